"""Webhooks: subscriptions, deliveries, and the alerts that hold."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)
WAITING = sa.text("next_at IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "webhook_subscriptions",
        sa.Column("id", ID, nullable=False),
        sa.Column("public_id", sa.String(length=24), nullable=False),
        sa.Column("owner_key", sa.String(length=64), nullable=True),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("url", sa.String(length=2048), nullable=False),
        sa.Column("place", sa.String(length=300), nullable=False),
        sa.Column("audience", sa.String(length=16), nullable=False),
        sa.Column("alerts", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("state_reason", sa.String(length=200), nullable=False),
        sa.Column("state_at", TIME, nullable=False),
        sa.Column("salt", sa.LargeBinary(32), nullable=False),
        sa.Column("key_id", sa.String(length=16), nullable=False),
        sa.Column("old_salt", sa.LargeBinary(32), nullable=True),
        sa.Column("old_key_id", sa.String(length=16), nullable=True),
        sa.Column("old_until", TIME, nullable=True),
        sa.Column("quiet_until", TIME, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("created_by", sa.String(length=320), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_subscriptions")),
        sa.UniqueConstraint("public_id", name=op.f("uq_webhook_subscriptions_public_id")),
    )
    op.create_index("ix_webhook_subscriptions_owner_key", "webhook_subscriptions", ["owner_key"])
    op.create_index("ix_webhook_subscriptions_audience", "webhook_subscriptions", ["audience"])
    op.create_table(
        "webhook_subjects",
        sa.Column("subject", sa.String(length=400), nullable=False),
        sa.Column("subscription_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["webhook_subscriptions.id"],
            name=op.f("fk_webhook_subjects_subscription_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("subject", "subscription_id", name=op.f("pk_webhook_subjects")),
    )
    op.create_index("ix_webhook_subjects_subscription_id", "webhook_subjects", ["subscription_id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", ID, nullable=False),
        sa.Column("message_id", sa.String(length=40), nullable=False),
        sa.Column("subscription_id", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=300), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("next_at", TIME, nullable=True),
        sa.Column("claims", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("tries", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["webhook_subscriptions.id"],
            name=op.f("fk_webhook_deliveries_subscription_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
    )
    op.create_index(
        "ix_webhook_deliveries_waiting",
        "webhook_deliveries",
        ["subscription_id", "next_at", "id"],
        sqlite_where=WAITING,
        postgresql_where=WAITING,
    )
    op.create_index(
        "ix_webhook_deliveries_subscription_id_id", "webhook_deliveries", ["subscription_id", "id"]
    )
    op.create_index("ix_webhook_deliveries_created_at", "webhook_deliveries", ["created_at"])
    op.create_table(
        "webhook_alerts",
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("subject", sa.String(length=512), nullable=False),
        sa.Column("since", TIME, nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject", name=op.f("pk_webhook_alerts")),
    )


def downgrade() -> None:
    for table in ("webhook_alerts", "webhook_deliveries", "webhook_subjects", "webhook_subscriptions"):
        op.drop_table(table)
