"""The blocks in doubt that are not final are found without reading the others."""

import sqlalchemy as sa

from app.db.migrating import create_index, drop_index

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None

PHASE = "expand"
NEEDED = False

_NAME, _TABLE = "ix_watch_unmatched_open", "watch_unmatched"


def upgrade() -> None:
    create_index(
        _NAME,
        _TABLE,
        ["chain_id", "block"],
        sqlite_where=sa.text("final = 0"),
        postgresql_where=sa.text("final = false"),
    )


def downgrade() -> None:
    drop_index(_NAME, _TABLE)
