"""How long the evidence of refunds took, counted."""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

PHASE = "expand"


def upgrade() -> None:
    op.create_table(
        "evidence_counts",
        sa.Column("stage", sa.String(length=16), nullable=False),
        sa.Column("up_to", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("milliseconds", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("stage", "up_to", name=op.f("pk_evidence_counts")),
    )


def downgrade() -> None:
    op.drop_table("evidence_counts")
