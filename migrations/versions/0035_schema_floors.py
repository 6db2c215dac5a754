"""Which code may run on this schema: written by migrations that take something away.

No row says that every version may that knows this revision. Code that is older than this revision asks for an
exact match, and so is not ready on any schema but its own.
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "schema_floors",
        sa.Column("revision", sa.String(length=32), nullable=False),
        sa.Column("oldest_code", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_schema_floors")),
    )


def downgrade() -> None:
    op.drop_table("schema_floors")
