"""Indexes by which the console lists transfers by age, and by the amount of one token."""

import sqlalchemy as sa

from app.db.migrating import create_index, drop_index, is_postgresql

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

PHASE = "expand"


def upgrade() -> None:
    create_index("ix_transfers_age", "transfers", [sa.text("coalesce(began_at, updated_at)")])
    # Amounts are text on SQLite: by their length, then by their digits, they sort as numbers.
    by_number = "amount" if is_postgresql() else "substr('0' || length(amount), -2) || amount"
    create_index(
        "ix_transfers_token_amount", "transfers", ["symbol", "src_chain_id", sa.text(f"({by_number})")]
    )


def downgrade() -> None:
    drop_index("ix_transfers_token_amount", "transfers")
    drop_index("ix_transfers_age", "transfers")
