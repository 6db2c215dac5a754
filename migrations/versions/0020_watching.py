"""Reading chains: what operators configure, who reads, how far, and what was found."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def of_chains() -> list[sa.Column]:
    return [
        sa.Column("watch_from_block", sa.BigInteger(), nullable=True),
        sa.Column("finality", sa.JSON(), nullable=True),
        sa.Column("poll_seconds", sa.JSON(), nullable=False, server_default="5.0"),
        sa.Column("rpc", sa.JSON(), nullable=False, server_default="[]"),
    ]


def block(name: str, *, nullable: bool = True) -> sa.Column:
    return sa.Column(name, sa.BigInteger(), nullable=nullable)


def upgrade() -> None:
    # Other tables hang on this one: never in a batch, which on SQLite drops the table.
    for column in of_chains():
        op.add_column("chains", column)
    op.create_table(
        "chain_watches",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(128), nullable=True),
        sa.Column("until", TIME, nullable=True),
        block("live_from"),
        block("live_to"),
        sa.Column("live_to_hash", sa.String(66), nullable=True),
        block("backfill_from"),
        block("backfilled_to"),
        block("reread_to"),
        sa.Column("reread_at", TIME, nullable=True),
        block("proven_to"),
        sa.Column("proven_at", TIME, nullable=True),
        sa.Column("contracts", sa.JSON(), nullable=True),
        block("head"),
        sa.Column("head_hash", sa.String(66), nullable=True),
        sa.Column("head_at", TIME, nullable=True),
        sa.Column("head_moved_at", TIME, nullable=True),
        sa.Column("read_at", TIME, nullable=True),
        sa.Column("found_at", TIME, nullable=True),
        sa.Column("source", sa.String(64), nullable=False),
        sa.Column("minute", TIME, nullable=True),
        sa.Column("calls_now", sa.BigInteger(), nullable=False),
        sa.Column("calls_before", sa.BigInteger(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.Column("fault_source", sa.String(64), nullable=False),
        sa.Column("fault_at", TIME, nullable=True),
        sa.Column("differed", sa.BigInteger(), nullable=False),
        sa.Column("refused", sa.BigInteger(), nullable=False),
        sa.Column("stopped", sa.Text(), nullable=True),
        sa.Column("stopped_at", TIME, nullable=True),
        sa.Column("stopped_by", sa.String(320), nullable=True),
        sa.Column("extra", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", name=op.f("pk_chain_watches")),
    )
    op.create_table(
        "watch_headers",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("hash", sa.String(66), nullable=False),
        sa.Column("parent_hash", sa.String(66), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("bloom", sa.LargeBinary(), nullable=True),
        sa.Column("receipts_root", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("chain_id", "number", name=op.f("pk_watch_headers")),
    )
    op.create_table(
        "watch_spans",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("first", sa.BigInteger(), autoincrement=False, nullable=False),
        block("last", nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("source", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "first", name=op.f("pk_watch_spans")),
    )
    op.create_index("ix_watch_spans_chain_id_last", "watch_spans", ["chain_id", "last"])
    op.create_table(
        "watch_waiting",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("key", sa.String(256), nullable=False),
        block("block", nullable=False),
        block("due"),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "kind", "key", name=op.f("pk_watch_waiting")),
    )
    op.create_index("ix_watch_waiting_due", "watch_waiting", ["chain_id", "kind", "due"])
    op.create_index("ix_watch_waiting_block", "watch_waiting", ["chain_id", "block"])
    op.create_table(
        "watch_misses",
        sa.Column("id", ID, nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        block("first", nullable=False),
        block("last", nullable=False),
        sa.Column("missing", sa.BigInteger(), nullable=False),
        sa.Column("surplus", sa.BigInteger(), nullable=False),
        sa.Column("source", sa.String(64), nullable=False),
        sa.Column("reread_source", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_watch_misses")),
    )
    op.create_index("ix_watch_misses_chain_id_id", "watch_misses", ["chain_id", "id"])


def downgrade() -> None:
    for table in ("watch_misses", "watch_waiting", "watch_spans", "watch_headers", "chain_watches"):
        op.drop_table(table)
    for column in reversed(of_chains()):
        op.drop_column("chains", column.name)
