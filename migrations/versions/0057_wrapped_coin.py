"""The token that a chain's native coin is wrapped as."""

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None

PHASE = "expand"
NEEDED = True


def upgrade() -> None:
    op.add_column("chains", sa.Column("native_wrap", sa.String(128), server_default="", nullable=False))


def downgrade() -> None:
    op.drop_column("chains", "native_wrap")
