"""Who is told about which transfers or alerts, and where."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.webhooks.subscription import MAX_NAME, AlertKind, Audience, State
from app.domain.webhooks.urls import MAX_URL
from app.extensions import Base
from app.models.types import ACCOUNT_LENGTH, BigId, Hash32, UtcTime

PUBLIC_ID_LENGTH = 24
OWNER_LENGTH = 64
ACTOR_LENGTH = 320
REASON_LENGTH = 200
SUBJECT_LENGTH = 3 * ACCOUNT_LENGTH + 16


class Subscription(Base):
    """A receiver of webhooks. Its secrets follow from a salt and a key that is outside of the database."""

    __tablename__ = "webhook_subscriptions"
    __table_args__ = (
        Index("ix_webhook_subscriptions_owner_key", "owner_key"),
        Index("ix_webhook_subscriptions_audience", "audience"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    public_id: Mapped[str] = mapped_column(String(PUBLIC_ID_LENGTH), unique=True, doc="as owners name it")
    owner_key: Mapped[str | None] = mapped_column(String(OWNER_LENGTH), doc="an API key; null is operators")
    name: Mapped[str] = mapped_column(String(MAX_NAME))
    url: Mapped[str] = mapped_column(String(MAX_URL))
    place: Mapped[str] = mapped_column(String(300), doc="host:port of the URL")
    audience: Mapped[Audience] = mapped_column(String(16))
    alerts: Mapped[list[AlertKind] | None] = mapped_column(
        JSON(none_as_null=True), doc="of an audience of alerts"
    )
    state: Mapped[State] = mapped_column(String(8))
    state_reason: Mapped[str] = mapped_column(String(REASON_LENGTH), default="", doc="why it is not active")
    state_at: Mapped[datetime] = mapped_column(UtcTime)
    salt: Mapped[bytes] = mapped_column(Hash32)
    key_id: Mapped[str] = mapped_column(String(16), doc="of the key that the secret follows from")
    old_salt: Mapped[bytes | None] = mapped_column(Hash32, doc="of the former secret")
    old_key_id: Mapped[str | None] = mapped_column(String(16))
    old_until: Mapped[datetime | None] = mapped_column(UtcTime, doc="how long the former secret signs")
    quiet_until: Mapped[datetime | None] = mapped_column(UtcTime, doc="the receiver's Retry-After")
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    created_by: Mapped[str] = mapped_column(String(ACTOR_LENGTH))


class Subject(Base):
    """An account or a transfer that a subscription names. The key begins with what is looked up."""

    __tablename__ = "webhook_subjects"
    __table_args__ = (Index("ix_webhook_subjects_subscription_id", "subscription_id"),)

    subject: Mapped[str] = mapped_column(
        String(SUBJECT_LENGTH), primary_key=True, doc="account:…, transfer:0x…"
    )
    subscription_id: Mapped[int] = mapped_column(
        BigInteger, ForeignKey("webhook_subscriptions.id", ondelete="CASCADE"), primary_key=True
    )
