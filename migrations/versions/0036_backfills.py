"""How far each backfill has come."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

PHASE = "expand"

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "backfills",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("done_to", sa.LargeBinary(), nullable=False),
        sa.Column("looked_at", sa.BigInteger(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.Column("moved_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_backfills")),
    )


def downgrade() -> None:
    op.drop_table("backfills")
