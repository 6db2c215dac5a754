"""Stuck transfers that somebody has seen to, and why a session of the console ended."""

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
    with op.batch_alter_table("operator_sessions") as table:
        table.add_column(sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True))
        table.add_column(sa.Column("ended_why", sa.String(16), nullable=True))


def downgrade() -> None:
    # What was ended would be open again without its mark.
    op.execute("DELETE FROM operator_sessions WHERE ended_at IS NOT NULL")
    with op.batch_alter_table("operator_sessions") as table:
        table.drop_column("ended_why")
        table.drop_column("ended_at")
    op.drop_table("stuck_acknowledgements")
