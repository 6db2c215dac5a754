"""base fees that an operator pins for a time, and route blocks that end

Going down removes the blocks that have ended: without their end they would stop their routes again. Those in
force stay, for ever. Pins go with their columns, so estimates are made with the fees that they outranked.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision: str | None = "0022"
branch_labels = None
depends_on = None

AMOUNT = sa.Text().with_variant(sa.Numeric(), "postgresql")


def upgrade() -> None:
    op.add_column("routes", sa.Column("pinned_base_fee", AMOUNT, nullable=True))
    op.add_column("routes", sa.Column("pinned_until", sa.DateTime(timezone=True), nullable=True))
    op.add_column("route_blocks", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM route_blocks WHERE expires_at <= CURRENT_TIMESTAMP")
    op.drop_column("route_blocks", "expires_at")
    op.drop_column("routes", "pinned_until")
    op.drop_column("routes", "pinned_base_fee")
