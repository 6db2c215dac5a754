"""What became of transfers, counted by the hour and by the day.

Every transfer is read twice. Run it while the feed may wait.
"""

import sqlalchemy as sa
from alembic import op

from app.db.migrating import is_postgresql

revision = "0029"
down_revision = "0027"
branch_labels = None
depends_on = None

EXACT = sa.Text().with_variant(sa.Numeric(), "postgresql")
KEY = ["hours", "span", "kind", "src_chain_id", "dst_chain_id", "symbol"]


def upgrade() -> None:
    op.create_table(
        "course_counts",
        sa.Column("hours", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("span", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("src_chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("dst_chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("begun", sa.BigInteger(), nullable=False),
        sa.Column("completed", sa.BigInteger(), nullable=False),
        sa.Column("refund", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("sent", EXACT, nullable=False),
        sa.Column("paid_for", EXACT, nullable=False),
        sa.Column("received", EXACT, nullable=False),
        sa.PrimaryKeyConstraint(*KEY, name=op.f("pk_course_counts")),
    )
    for hours in (1, 24):
        op.execute(_counted(hours))


def downgrade() -> None:
    op.drop_table("course_counts")


def _counted(hours: int) -> str:
    """Counts as the feed would have kept them. SQLite's connections have the aggregate ``exact_sum``."""
    if is_postgresql():
        hour, total = "CAST(floor(extract(epoch FROM began_at) / 3600) AS bigint)", "coalesce(sum({}), 0)"
        whole_day = f"CAST(floor({hour} / 24.0) AS bigint)"
    else:
        hour, total = (
            "CAST(strftime('%s', substr(began_at, 1, 19)) AS INTEGER) / 3600",
            "coalesce(exact_sum({}), '0')",
        )
        whole_day = f"({hour}) / 24"
    span = hour if hours == 1 else whole_day
    paid = "CASE WHEN status = 5 AND sent_at IS NOT NULL AND received_amount IS NOT NULL THEN {} END"
    sums = [
        total.format("CASE WHEN sent_at IS NOT NULL THEN amount END"),
        total.format(paid.format("amount")),
        total.format(paid.format("received_amount")),
    ]
    return f"""
        INSERT INTO course_counts
            ({", ".join(KEY)}, begun, completed, refund, failed, sent, paid_for, received)
        SELECT {hours}, {span}, coalesce(kind, ''), src_chain_id, dst_chain_id, symbol, count(*),
            sum(CASE WHEN status = 5 THEN 1 ELSE 0 END),
            sum(CASE WHEN status IN (6, 7, 8, 9, 10) THEN 1 ELSE 0 END),
            sum(CASE WHEN status = 2 THEN 1 ELSE 0 END),
            {", ".join(sums)}
        FROM transfers
        WHERE status <> 0 AND began_at IS NOT NULL AND src_chain_id IS NOT NULL AND dst_chain_id IS NOT NULL
            AND symbol IS NOT NULL
        GROUP BY 1, 2, 3, 4, 5, 6
        """  # noqa: S608  constants of this file
