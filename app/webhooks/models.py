"""Who subscribed to what, what is to be delivered, and what became of it."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models import Base
from app.db.types import ACCOUNT_LENGTH, BigId, Hash32, UtcTime
from app.webhooks.rules.addresses import MAX_URL
from app.webhooks.rules.subscription import MAX_NAME, AlertKind, Audience, DeliveryState, State

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


ERROR_LENGTH = 200
DELIVERY_SUBJECT_LENGTH = 300

IS_WAITING = text("next_at IS NOT NULL")
"""The deliveries that are to be tried, in the words of their index."""


class Delivery(Base):
    """One event for one subscription, written in the transaction of the change that it reports.

    ``next_at`` is null once no attempt is left. A sender that takes a delivery only moves ``next_at`` on, so
    that all deliveries of a killed sender become due again (docs/decisions/0042-webhooks.md).
    """

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        Index(
            "ix_webhook_deliveries_waiting",
            "subscription_id",
            "next_at",
            "id",
            sqlite_where=IS_WAITING,
            postgresql_where=IS_WAITING,
        ),
        Index("ix_webhook_deliveries_subscription_id_id", "subscription_id", "id"),
        Index("ix_webhook_deliveries_created_at", "created_at"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    message_id: Mapped[str] = mapped_column(String(40), doc="webhook-id: the same at every attempt")
    subscription_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("webhook_subscriptions.id"))
    type: Mapped[str] = mapped_column(String(32))
    subject: Mapped[str] = mapped_column(String(DELIVERY_SUBJECT_LENGTH), doc="what the log is searched by")
    body: Mapped[str] = mapped_column(Text, doc="JSON in ASCII, as it is signed")
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    state: Mapped[DeliveryState] = mapped_column(String(16))
    next_at: Mapped[datetime | None] = mapped_column(UtcTime)
    claims: Mapped[int] = mapped_column(doc="how often a sender took it")
    attempts: Mapped[int] = mapped_column(doc="since it was written or replayed, with an outcome")
    tries: Mapped[str | None] = mapped_column(Text, doc="JSON of the attempts: at, status, error, ms")


class Alert(Base):
    """A condition that operators should know and that still holds. It is stored so that it is sent once."""

    __tablename__ = "webhook_alerts"

    kind: Mapped[str] = mapped_column(String(16), primary_key=True, doc="a value of AlertKind")
    subject: Mapped[str] = mapped_column(String(512), primary_key=True)
    since: Mapped[datetime] = mapped_column(UtcTime)
    detail: Mapped[str] = mapped_column(Text)


def delivery_row(subscription_id: int, type_: str, subject: str, body: str, now: datetime) -> dict[str, Any]:
    """A new delivery, due at once."""
    return {
        "message_id": f"msg_{uuid.uuid4().hex}",
        "subscription_id": subscription_id,
        "type": type_,
        "subject": subject,
        "body": body,
        "created_at": now,
        "state": DeliveryState.WAITING.value,
        "next_at": now,
        "claims": 0,
        "attempts": 0,
    }
