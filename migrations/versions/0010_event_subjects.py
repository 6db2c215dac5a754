"""event ids of up to 256 characters"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

ID_COLUMNS = ("events", "retracted_events", "fed_validator_sets", "fed_fees", "pruned_reporters")


def upgrade() -> None:
    _resize(128, 256)
    _resize_subject(256, 512)


def downgrade() -> None:
    _resize_subject(512, 256)
    _resize(256, 128)


def _resize(old: int, new: int) -> None:
    for table in ID_COLUMNS:
        with op.batch_alter_table(table) as batch_op:
            batch_op.alter_column(
                "event_id", existing_type=sa.String(old), type_=sa.String(new), existing_nullable=False
            )


def _resize_subject(old: int, new: int) -> None:
    with op.batch_alter_table("anomalies") as batch_op:
        batch_op.alter_column(
            "subject", existing_type=sa.String(old), type_=sa.String(new), existing_nullable=False
        )
