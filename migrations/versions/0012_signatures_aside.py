"""signatures that are kept aside, and those that are not needed"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "signatures_aside",
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=False),
        sa.Column("event_id", sa.String(length=256), nullable=False),
        sa.Column("signature", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reporter", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("transfer_id", "event_id", "signature", name=op.f("pk_signatures_aside")),
    )
    op.create_table(
        "signatures_not_needed",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_signatures_not_needed")),
    )
    with op.batch_alter_table("signatures_not_needed", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_signatures_not_needed_transfer_id"), ["transfer_id"], unique=False
        )


def downgrade() -> None:
    op.drop_table("signatures_not_needed")
    op.drop_table("signatures_aside")
