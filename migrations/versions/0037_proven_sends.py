"""The chains that reporters of events about transfers were limited to, and the token that a send names.

Events of before count as they did: as of reporters without limits.
"""

import sqlalchemy as sa
from alembic import op

from app.db.migrating import add_columns

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

PHASE = "expand"


def upgrade() -> None:
    add_columns("events", sa.Column("limited_to", sa.Text(), nullable=True))
    add_columns("transfers", sa.Column("token", sa.String(length=128), nullable=True))


def downgrade() -> None:
    op.drop_column("transfers", "token")
    op.drop_column("events", "limited_to")
