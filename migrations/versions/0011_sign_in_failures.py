"""sign-in failures"""

import sqlalchemy as sa
from alembic import op

from app.db.migrating import create_index

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # These keys have what was typed as an email. They count for an hour at most.
    op.execute(sa.text("DELETE FROM sign_in_failures WHERE key LIKE 'pair:%' OR key LIKE 'account:%'"))
    create_index("ix_sign_in_failures_last_at", "sign_in_failures", ["last_at"])


def downgrade() -> None:
    op.drop_index("ix_sign_in_failures_last_at", "sign_in_failures")
