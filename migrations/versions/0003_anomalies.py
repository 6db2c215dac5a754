"""anomalies"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "anomalies",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=256), nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=True),
        sa.Column("chain_id", sa.BigInteger(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("event_ids", sa.JSON(), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("acknowledged_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("acknowledged_by", sa.String(length=255), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_anomalies")),
        sa.UniqueConstraint("subject", "kind", name=op.f("uq_anomalies_subject_kind")),
    )
    with op.batch_alter_table("anomalies", schema=None) as batch_op:
        batch_op.create_index(
            "ix_anomalies_acknowledged_at_last_at", ["acknowledged_at", "last_at"], unique=False
        )
        batch_op.create_index("ix_anomalies_transfer_id", ["transfer_id"], unique=False)

    op.create_table(
        "retracted_events",
        sa.Column("event_id", sa.String(length=128), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("transfer_id", sa.LargeBinary(32), nullable=True),
        sa.PrimaryKeyConstraint("event_id", name=op.f("pk_retracted_events")),
    )
    with op.batch_alter_table("retracted_events", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_retracted_events_seq"), ["seq"], unique=False)
        batch_op.create_index(batch_op.f("ix_retracted_events_transfer_id"), ["transfer_id"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("retracted_events", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_retracted_events_transfer_id"))
        batch_op.drop_index(batch_op.f("ix_retracted_events_seq"))

    op.drop_table("retracted_events")
    with op.batch_alter_table("anomalies", schema=None) as batch_op:
        batch_op.drop_index("ix_anomalies_transfer_id")
        batch_op.drop_index("ix_anomalies_acknowledged_at_last_at")

    op.drop_table("anomalies")
