"""audit records"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

INDEXED = ("action", "actor", "at", "subject")


def upgrade() -> None:
    op.create_table(
        "audit_records",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=255), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=True),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=256), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("changes", sa.Text(), nullable=False),
        sa.Column("mac", sa.LargeBinary(32), nullable=False),
        sa.Column("key_id", sa.String(length=16), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_records")),
    )
    for column in INDEXED:
        op.create_index(f"ix_audit_records_{column}", "audit_records", [column])


def downgrade() -> None:
    for column in INDEXED:
        op.drop_index(f"ix_audit_records_{column}", "audit_records")
    op.drop_table("audit_records")
