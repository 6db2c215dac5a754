"""Names and contacts of validators."""

import sqlalchemy as sa
from alembic import op

from app.db.migrating import add_columns

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

PHASE = "expand"


def upgrade() -> None:
    add_columns(
        "opening_validators",
        sa.Column("name", sa.String(120), nullable=False, server_default=""),
        sa.Column("contact", sa.String(120), nullable=False, server_default=""),
    )


def downgrade() -> None:
    op.drop_column("opening_validators", "contact")
    op.drop_column("opening_validators", "name")
