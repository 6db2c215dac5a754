"""Withdraw ids that were used up in a block."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

PHASE = "expand"


def upgrade() -> None:
    op.create_table(
        "withdraws_done",
        sa.Column("withdraw_id", sa.LargeBinary(32), nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("event_id", sa.String(256), nullable=False),
        sa.Column("ref_id", sa.LargeBinary(32), nullable=True),
        sa.PrimaryKeyConstraint("withdraw_id", "chain_id", "event_id", name=op.f("pk_withdraws_done")),
    )


def downgrade() -> None:
    op.drop_table("withdraws_done")
