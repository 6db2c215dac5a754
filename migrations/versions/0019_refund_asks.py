"""Asks for refunds, apart from the event log."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "refund_asks",
        sa.Column("seq", ID, nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_refund_asks")),
        sa.UniqueConstraint("transfer_id", name=op.f("uq_refund_asks_transfer_id")),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("refund_asks")
