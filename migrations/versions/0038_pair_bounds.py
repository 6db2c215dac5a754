"""What a deposit and a burn of a pegged pair may be at least and at most."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

PHASE = "expand"

AMOUNT = sa.Text().with_variant(sa.Numeric(), "postgresql")
BOUNDS = ("min_deposit", "max_deposit", "min_burn", "max_burn")


def upgrade() -> None:
    for name in BOUNDS:
        op.add_column("pegged_pairs", sa.Column(name, AMOUNT, nullable=True))


def downgrade() -> None:
    for name in reversed(BOUNDS):
        op.drop_column("pegged_pairs", name)
