"""The middle of the latencies of each pair of chains, kept by the feed.

It begins empty: the feed keeps the middle of a pair from its next change on, and until then it is found as
before. Nothing that runs with an earlier release may take events once this one has taken any.
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "latency_middles",
        sa.Column("src_chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("dst_chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("low", sa.BigInteger(), nullable=False),
        sa.Column("high", sa.BigInteger(), nullable=False),
        sa.Column("below", sa.BigInteger(), nullable=False),
        sa.Column("above", sa.BigInteger(), nullable=False),
        sa.Column("latencies", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("src_chain_id", "dst_chain_id", name=op.f("pk_latency_middles")),
    )


def downgrade() -> None:
    op.drop_table("latency_middles")
