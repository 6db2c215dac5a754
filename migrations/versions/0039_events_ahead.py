"""Accepted events whose time is still to come."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

PHASE = "expand"


def upgrade() -> None:
    op.create_table(
        "events_ahead",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_events_ahead")),
    )
    op.create_index(op.f("ix_events_ahead_at"), "events_ahead", ["at"])


def downgrade() -> None:
    op.drop_table("events_ahead")
