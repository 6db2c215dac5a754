"""What a URL of a watched chain returned that cannot be true, for the check and the page of the chain."""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

PHASE = "expand"
NEEDED = True


def upgrade() -> None:
    op.create_table(
        "watch_faulty_urls",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "source", name=op.f("pk_watch_faulty_urls")),
    )


def downgrade() -> None:
    op.drop_table("watch_faulty_urls")
