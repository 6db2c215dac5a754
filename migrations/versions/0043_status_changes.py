"""A journal of the changes of statuses, written with what changes them.

Nothing of what happened before is filled in. Where anything did, the first row says how far the log reached,
and names no transfer. Its number is above those of all requested refunds: until now the ids of streams had
these behind the position of the log.
"""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

PHASE = "expand"

_RELISTED = sa.text("accounts_before IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "status_changes",
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(length=32), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("is_later", sa.Boolean(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("previous_status", sa.SmallInteger(), nullable=False),
        sa.Column("refund_reason", sa.SmallInteger(), nullable=False),
        sa.Column("taken_back", sa.Boolean(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("accounts_before", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_status_changes")),
    )
    op.create_index("ix_status_changes_transfer_id_sequence", "status_changes", ["transfer_id", "sequence"])
    op.create_index("ix_status_changes_seq", "status_changes", ["seq"])
    op.create_index(
        "ix_status_changes_relisted",
        "status_changes",
        ["seq"],
        sqlite_where=_RELISTED,
        postgresql_where=_RELISTED,
    )
    op.execute(
        "INSERT INTO status_changes"
        " (sequence, seq, is_later, status, previous_status, refund_reason, taken_back, at)"
        " SELECT 1 + COALESCE((SELECT MAX(seq) FROM refund_asks), 0), MAX(seq), FALSE, 0, 0, 0, FALSE,"
        " CURRENT_TIMESTAMP"
        " FROM (SELECT seq FROM events UNION ALL SELECT seq FROM pruned_reporters) AS log"
        " HAVING MAX(seq) IS NOT NULL"
    )


def downgrade() -> None:
    op.execute("DELETE FROM backfills WHERE name = 'recorded-statuses'")  # there will be changes again
    op.drop_table("status_changes")
