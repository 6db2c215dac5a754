"""What each URL said of a block that is in doubt, and which ranges the rule of evidence proved."""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

PHASE = "expand"
NEEDED = True

_OF_DOUBTS = {
    "hash": sa.String(66),
    "words": sa.JSON(),
    "since": sa.DateTime(timezone=True),
    "agreed": sa.Boolean(),
    "disputed": sa.Boolean(),
    "final": sa.Boolean(),
}


def upgrade() -> None:
    for name, kind in _OF_DOUBTS.items():
        op.add_column("watch_unmatched", sa.Column(name, kind))
    op.add_column(
        "watch_spans", sa.Column("weighed", sa.Boolean(), server_default=sa.false(), nullable=False)
    )


def downgrade() -> None:
    op.drop_column("watch_spans", "weighed")
    for name in reversed(_OF_DOUBTS):
        op.drop_column("watch_unmatched", name)
