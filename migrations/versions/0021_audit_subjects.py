"""Every row that a record of the audit log touched, to be searched for."""

import json

import sqlalchemy as sa
from alembic import op

from app.db.migrating import refuse_rows_offline

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
CHUNK = 200
LENGTH = 256

RECORDS = sa.table(
    "audit_records", sa.column("id", sa.BigInteger), sa.column("subject"), sa.column("changes")
)


def upgrade() -> None:
    table = op.create_table(
        "audit_subjects",
        sa.Column("record_id", ID, nullable=False, autoincrement=False),
        sa.Column("subject", sa.String(LENGTH), nullable=False),
        sa.PrimaryKeyConstraint("record_id", "subject", name=op.f("pk_audit_subjects")),
        sqlite_with_rowid=False,
    )
    if refuse_rows_offline("audit_records"):
        return
    connection = op.get_bind()
    last = 0
    while True:
        page = sa.select(RECORDS).where(RECORDS.c.id > last).order_by(RECORDS.c.id).limit(CHUNK)
        records = connection.execute(page).all()
        if not records:
            break
        last = records[-1].id
        rows = [
            {"record_id": record.id, "subject": subject}
            for record in records
            for subject in sorted({record.subject.lower()[:LENGTH], *_touched(record.changes)})
        ]
        connection.execute(sa.insert(table), rows)


def downgrade() -> None:
    op.drop_table("audit_subjects")


def _touched(text: str) -> set[str]:
    """The subjects of the changes. They were written by the gateway; any other text names none."""
    try:
        changes = json.loads(text)
    except ValueError:
        return set()
    if not isinstance(changes, list):
        return set()
    return {str(change["subject"]).lower()[:LENGTH] for change in changes if isinstance(change, dict)}
