"""The middle of the latencies of each pair of chains, kept by the feed.

It begins empty: the feed finds all middles when the window moves on, and until then medians are found as
before. Processes of an earlier release may go on to take events: a trigger notes every change of a record,
and only what has moved the middles along takes the note away.
"""

import sqlalchemy as sa
from alembic import op

from app.db.migrating import is_postgresql

revision = "0031"
down_revision = "0029"
branch_labels = None
depends_on = None

FORGET = "UPDATE latency_window SET middles_since = NULL WHERE middles_since IS NOT NULL"


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
    op.add_column("latency_window", sa.Column("middles_since", sa.DateTime(timezone=True), nullable=True))
    if is_postgresql():
        op.execute(
            "CREATE FUNCTION forget_latency_middles() RETURNS trigger LANGUAGE plpgsql"
            f" SET search_path FROM CURRENT AS $$ BEGIN {FORGET}; RETURN NULL; END $$"
        )
        op.execute(
            "CREATE TRIGGER forget_latency_middles AFTER INSERT OR UPDATE OR TRUNCATE"
            " ON latency_records FOR EACH STATEMENT EXECUTE FUNCTION forget_latency_middles()"
        )
        # With a transfer its record is deleted; most often it is gone already, and that is no change.
        op.execute(
            "CREATE TRIGGER forget_latency_middles_on_delete AFTER DELETE"
            " ON latency_records FOR EACH ROW EXECUTE FUNCTION forget_latency_middles()"
        )
    else:
        for change in ("insert", "update", "delete"):
            op.execute(
                f"CREATE TRIGGER forget_latency_middles_on_{change} AFTER {change} ON latency_records"
                f" BEGIN {FORGET}; END"
            )


def downgrade() -> None:
    if is_postgresql():
        op.execute("DROP TRIGGER forget_latency_middles ON latency_records")
        op.execute("DROP TRIGGER forget_latency_middles_on_delete ON latency_records")
        op.execute("DROP FUNCTION forget_latency_middles()")
    else:
        for change in ("insert", "update", "delete"):
            op.execute(f"DROP TRIGGER forget_latency_middles_on_{change}")
    op.drop_column("latency_window", "middles_since")
    op.drop_table("latency_middles")
