"""Stuck transfers that somebody has seen to."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "stuck_acknowledgements",
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("status_since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("note", sa.String(500), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("transfer_id", name=op.f("pk_stuck_acknowledgements")),
    )


def downgrade() -> None:
    op.drop_table("stuck_acknowledgements")
