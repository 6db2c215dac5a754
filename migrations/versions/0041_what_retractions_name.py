"""What retractions name, and indexes by which heads and fees are found that no longer decide.

The backfill ``retraction-targets`` fills in what earlier retractions name; until then, and beside code
of the last release, all of them are read.
"""

import sqlalchemy as sa
from alembic import op

from app.db.migrating import create_index, drop_index

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

PHASE = "expand"

_HEAD = sa.text("type = 'chain.head'")
_FEE = sa.text("type = 'fee.updated'")


def upgrade() -> None:
    op.create_table(
        "retraction_targets",
        sa.Column("subject", sa.String(96), nullable=False),
        sa.Column("event_id", sa.String(256), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("subject", "event_id", "seq", name=op.f("pk_retraction_targets")),
        if_not_exists=True,
    )
    op.create_index(op.f("ix_retraction_targets_seq"), "retraction_targets", ["seq"], if_not_exists=True)
    heads = ["reporter", "chain_id", "block"]
    create_index("ix_events_heads", "events", heads, sqlite_where=_HEAD, postgresql_where=_HEAD)
    create_index("ix_events_fees", "events", ["subject", "at"], sqlite_where=_FEE, postgresql_where=_FEE)


def downgrade() -> None:
    op.execute("DELETE FROM backfills WHERE name = 'retraction-targets'")  # there will be nothing again
    drop_index("ix_events_fees", "events")
    drop_index("ix_events_heads", "events")
    op.drop_table("retraction_targets")
