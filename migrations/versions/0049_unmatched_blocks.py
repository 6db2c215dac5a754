"""Blocks that their headers do not prove, and over which a chain counts as proven all the same."""

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None

PHASE = "expand"
NEEDED = True


def upgrade() -> None:
    op.create_table(
        "watch_unmatched",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "block", name=op.f("pk_watch_unmatched")),
    )
    op.create_index("ix_watch_unmatched_tries", "watch_unmatched", ["chain_id", "tries", "block"])
    op.add_column("chain_watches", sa.Column("matched_to", sa.BigInteger(), nullable=True))
    op.add_column(
        "chain_watches", sa.Column("unmatched", sa.BigInteger(), server_default="0", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("chain_watches", "unmatched")
    op.drop_column("chain_watches", "matched_to")
    op.drop_index("ix_watch_unmatched_tries", table_name="watch_unmatched")
    op.drop_table("watch_unmatched")
