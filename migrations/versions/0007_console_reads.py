"""What the console looks for: lists and searches of transfers, and what became of estimates.

On PostgreSQL an index is built while nobody writes to its table: minutes at ten million transfers. Run it
while the feed may wait.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

OPEN = sa.text("status NOT IN (2, 5, 10)")
NAMES = ("src_tx_hash", "dst_tx_hash", "tx_hash")
TYPES = (
    "transfer.submitted", "transfer.sent", "transfer.delayed", "transfer.released",
    "refund.submitted", "refund.completed",
)  # fmt: skip


def upgrade() -> None:
    op.create_table(
        "estimate_counts",
        sa.Column("minute", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("code", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("minute", "code", "reason", name=op.f("pk_estimate_counts")),
    )
    op.create_table(
        "transfer_hashes",
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=False),
        sa.Column("tx_hash", sa.String(length=128), nullable=False),
        sa.ForeignKeyConstraint(
            ["transfer_id"],
            ["transfers.transfer_id"],
            name=op.f("fk_transfer_hashes_transfer_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("transfer_id", "tx_hash", name=op.f("pk_transfer_hashes")),
    )
    with op.batch_alter_table("transfer_hashes", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_transfer_hashes_tx_hash"), ["tx_hash"], unique=False)
    _fill_hashes()
    with op.batch_alter_table("transfers", schema=None) as batch_op:
        batch_op.create_index("ix_transfers_updated_at", ["updated_at"], unique=False)
        batch_op.create_index(
            "ix_transfers_open",
            ["status", "updated_at"],
            unique=False,
            sqlite_where=OPEN,
            postgresql_where=OPEN,
        )
        batch_op.create_index(
            "ix_transfers_pair_updated_at", ["src_chain_id", "dst_chain_id", "updated_at"], unique=False
        )
        for column in ("sender", "receiver"):
            batch_op.create_index(f"ix_transfers_{column}_updated_at", [column, "updated_at"], unique=False)
        for column in ("src_tx_hash", "dst_tx_hash"):
            batch_op.create_index(f"ix_transfers_{column}", [column], unique=False, postgresql_using="hash")


def _fill_hashes() -> None:
    """Every transaction that the log names and the transfer's row does not."""
    postgresql = op.get_bind().dialect.name == "postgresql"
    read = "CAST(e.body AS json) ->> '{}'" if postgresql else "json_extract(e.body, '$.{}')"
    named = ", ".join(read.format(name) for name in NAMES)
    types = ", ".join(f"'{name}'" for name in TYPES)
    op.execute(
        f"""
        INSERT INTO transfer_hashes (transfer_id, tx_hash)
        SELECT DISTINCT told.transfer_id, told.tx_hash
        FROM (
            SELECT e.transfer_id, coalesce({named}) AS tx_hash FROM events AS e WHERE e.type IN ({types})
        ) AS told
        JOIN transfers AS t ON t.transfer_id = told.transfer_id
        WHERE told.tx_hash IS NOT NULL
            AND told.tx_hash <> coalesce(t.src_tx_hash, '')
            AND told.tx_hash <> coalesce(t.dst_tx_hash, '')
        """  # noqa: S608  constants of this file
    )


def downgrade() -> None:
    with op.batch_alter_table("transfers", schema=None) as batch_op:
        for column in ("dst_tx_hash", "src_tx_hash"):
            batch_op.drop_index(f"ix_transfers_{column}")
        for column in ("receiver", "sender"):
            batch_op.drop_index(f"ix_transfers_{column}_updated_at")
        batch_op.drop_index("ix_transfers_pair_updated_at")
        batch_op.drop_index("ix_transfers_open")
        batch_op.drop_index("ix_transfers_updated_at")
    with op.batch_alter_table("transfer_hashes", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_transfer_hashes_tx_hash"))

    op.drop_table("transfer_hashes")
    op.drop_table("estimate_counts")
