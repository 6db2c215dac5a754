"""sign-in failures"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The keys had what was typed as an email. They are forgotten an hour after the last failure in any case.
    op.execute(sa.text("DELETE FROM sign_in_failures"))
    op.create_index("ix_sign_in_failures_last_at", "sign_in_failures", ["last_at"])


def downgrade() -> None:
    op.drop_index("ix_sign_in_failures_last_at", "sign_in_failures")
    op.execute(sa.text("DELETE FROM sign_in_failures"))
