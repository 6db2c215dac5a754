"""Where in the log each ask for a refund came: streams of events tell it there.

Asks that were kept before have no place. Processes of an earlier release go on to write such ones.
"""

import sqlalchemy as sa
from alembic import op

from app.db.migrating import add_columns, create_index

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_columns("refund_asks", sa.Column("log_seq", sa.BigInteger(), nullable=True))
    create_index(op.f("ix_refund_asks_log_seq"), "refund_asks", ["log_seq"])


def downgrade() -> None:
    op.drop_index(op.f("ix_refund_asks_log_seq"), "refund_asks")
    op.drop_column("refund_asks", "log_seq")
