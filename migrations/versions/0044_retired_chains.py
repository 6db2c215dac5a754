"""Chains that are stopped for good."""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

PHASE = "expand"


def upgrade() -> None:
    op.add_column("chains", sa.Column("retired", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("chains", "retired")
