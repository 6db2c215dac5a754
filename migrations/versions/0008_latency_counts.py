"""latency counts"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

PAIR = ["src_chain_id", "dst_chain_id"]


def upgrade() -> None:
    # Counted by the next event that comes in; until then medians are found without counts.
    op.create_table(
        "latency_counts",
        sa.Column("src_chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("dst_chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("width", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("bucket", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(*PAIR, "width", "bucket", name=op.f("pk_latency_counts")),
    )
    op.create_table(
        "latency_window",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_latency_window")),
    )
    op.drop_index("ix_latency_records_pair_released_at", "latency_records")
    op.create_index(
        "ix_latency_records_pair_released_at", "latency_records", [*PAIR, "released_at", "latency_us"]
    )
    op.create_index(
        "ix_latency_records_pair_fine",
        "latency_records",
        [*PAIR, sa.text("(latency_us >> 19)"), "released_at", "latency_us"],
    )
    op.create_index("ix_latency_records_released_at", "latency_records", ["released_at"])


def downgrade() -> None:
    op.drop_index("ix_latency_records_released_at", "latency_records")
    op.drop_index("ix_latency_records_pair_fine", "latency_records")
    op.drop_index("ix_latency_records_pair_released_at", "latency_records")
    op.create_index("ix_latency_records_pair_released_at", "latency_records", [*PAIR, "released_at"])
    op.drop_table("latency_window")
    op.drop_table("latency_counts")
