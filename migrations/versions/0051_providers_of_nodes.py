"""Which nodes of a chain are of one provider, where their hosts do not say it."""

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None

PHASE = "expand"
NEEDED = True


def upgrade() -> None:
    for name in ("rpc_same_provider", "rpc_independent"):
        op.add_column("chains", sa.Column(name, sa.JSON(), server_default="[]", nullable=False))


def downgrade() -> None:
    for name in ("rpc_independent", "rpc_same_provider"):
        op.drop_column("chains", name)
