"""Signatures that are kept aside or not needed; tokens that expire, have a quota, and are replaced.

Going down, of two tokens of one reporter the older gets its public part added to its name.
"""

import sqlalchemy as sa
from alembic import op

from app.db.migrating import create_index

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

SQUAWK = {"ban-drop-constraint": "a name may be given again; no code relies on the refusal"}


def upgrade() -> None:
    create_index(op.f("ix_ingest_tokens_name"), "ingest_tokens", ["name"])
    op.create_table(
        "signatures_aside",
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=False),
        sa.Column("event_id", sa.String(length=256), nullable=False),
        sa.Column("signature", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reporter", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("transfer_id", "event_id", "signature", name=op.f("pk_signatures_aside")),
    )
    op.create_table(
        "signatures_not_needed",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_signatures_not_needed")),
    )
    with op.batch_alter_table("signatures_not_needed", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_signatures_not_needed_transfer_id"), ["transfer_id"], unique=False
        )
    op.create_table(
        "ingest_usage",
        sa.Column("reporter", sa.String(length=64), nullable=False),
        sa.Column("period_start", sa.BigInteger(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("reporter", name=op.f("pk_ingest_usage")),
    )
    columns = (
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("quota_events", sa.BigInteger(), nullable=True),
        sa.Column("quota_seconds", sa.BigInteger(), nullable=True),
    )
    with op.batch_alter_table("ingest_tokens", schema=None) as batch_op:
        for column in columns:
            batch_op.add_column(column)
        batch_op.drop_constraint(batch_op.f("uq_ingest_tokens_name"), type_="unique")


def downgrade() -> None:
    op.execute(
        "UPDATE ingest_tokens SET name = substr(name, 1, 47) || '.' || key_id WHERE EXISTS "
        "(SELECT 1 FROM ingest_tokens AS o WHERE o.name = ingest_tokens.name AND o.id > ingest_tokens.id)"
    )
    with op.batch_alter_table("ingest_tokens", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_ingest_tokens_name"))
        batch_op.create_unique_constraint(batch_op.f("uq_ingest_tokens_name"), ["name"])
        batch_op.drop_column("quota_seconds")
        batch_op.drop_column("quota_events")
        batch_op.drop_column("expires_at")
    op.drop_table("ingest_usage")
    op.drop_table("signatures_not_needed")
    op.drop_table("signatures_aside")
