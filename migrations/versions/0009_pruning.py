"""pruning"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "pruned_transfers",
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("transfer_id", name=op.f("pk_pruned_transfers")),
    )
    op.create_table(
        "pruned_events",
        sa.Column("id_digest", sa.LargeBinary(16), nullable=False),
        sa.Column("content_digest", sa.LargeBinary(8), nullable=False),
        sa.PrimaryKeyConstraint("id_digest", name=op.f("pk_pruned_events")),
    )
    op.create_table(
        "pruned_pools",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("symbol", sa.String(length=64), nullable=False),
        sa.Column("sent", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=False),
        sa.Column("relayed", sa.Text().with_variant(sa.Numeric(), "postgresql"), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "symbol", name=op.f("pk_pruned_pools")),
    )
    op.create_table(
        "pruned_chains",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("highest_block", sa.BigInteger(), nullable=True),
        sa.Column("newest_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("chain_id", name=op.f("pk_pruned_chains")),
    )
    op.create_table(
        "pruned_reporters",
        sa.Column("reporter", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("event_id", sa.String(length=128), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("reporter", name=op.f("pk_pruned_reporters")),
    )
    op.create_table(
        "grown_database",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("transfers", sa.BigInteger(), nullable=False),
        sa.Column("grown_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grown_database")),
    )


def downgrade() -> None:
    for table in (
        "grown_database",
        "pruned_reporters",
        "pruned_chains",
        "pruned_pools",
        "pruned_events",
        "pruned_transfers",
    ):
        op.drop_table(table)
