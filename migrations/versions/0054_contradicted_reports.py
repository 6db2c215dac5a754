"""Reports of logs that the blocks which they name do not hold."""

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None

PHASE = "expand"
NEEDED = True

_TABLE = "contradicted_reports"


def upgrade() -> None:
    op.create_table(
        _TABLE,
        sa.Column("event_id", sa.String(256), nullable=False),
        sa.Column("subject", sa.String(96), nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=True),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("reporter", sa.String(64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("outranked", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("event_id", "subject", name=op.f("pk_contradicted_reports")),
    )
    op.create_index("ix_contradicted_reports_block", _TABLE, ["chain_id", "block"])
    for column in ("reporter", "transfer_id"):
        op.create_index(op.f(f"ix_contradicted_reports_{column}"), _TABLE, [column])


def downgrade() -> None:
    op.drop_table(_TABLE)
