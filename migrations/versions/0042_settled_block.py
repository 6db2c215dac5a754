"""The block that the end of a transfer rests on, and the newest final block of a chain that is watched."""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

PHASE = "expand"


def upgrade() -> None:
    op.add_column("transfers", sa.Column("settled_block", sa.BigInteger(), nullable=True))
    op.add_column("chain_watches", sa.Column("final", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    # After another upgrade its backfill has to begin anew: without its block an end is called final at once.
    op.execute("DELETE FROM backfills WHERE name = 'settled-transfers'")
    op.drop_column("chain_watches", "final")
    op.drop_column("transfers", "settled_block")
