"""What can be subscribed to, what is published (docs/webhooks.md#events), and how it is signed.

Signatures are those of the Standard Webhooks specification, version v1 (docs/webhooks.md#verify).
"""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from app.transfers.rules.published_changes import StatusChange, event_of
from app.values.identifiers import account_key

TEST_EVENT: Final = "webhook.test"


def change_body(change: StatusChange, at: datetime) -> str:
    """The JSON text of a change of a status. The rest is as in ``StatusChange.event``."""
    return _text(change.event(at))


def event_body(type_: str, at: datetime, data: Mapping[str, Any]) -> str:
    """The JSON text of any event, in ASCII."""
    return _text(event_of(type_, at, data))


def _text(event: Mapping[str, Any]) -> str:
    return json.dumps(event, separators=(",", ":"))


MAX_SUBJECTS: Final = 500
"""Accounts and transfers of one subscription together."""

MAX_SUBSCRIPTIONS: Final = 100
"""Subscriptions of one API key."""

MAX_NAME: Final = 100
"""Characters of a subscription's name."""

AUDIT_LOG: Final = "audit log"
"""The subject of alerts about it."""


class Audience(StrEnum):
    """What a subscription is about."""

    SUBJECTS = "subjects"
    """Accounts and transfers that it names."""

    EVERYTHING = "everything"
    """Every transfer."""

    ALERTS = "alerts"
    """What operators should know."""


class State(StrEnum):
    """Whether a subscription is sent to."""

    ACTIVE = "active"

    PAUSED = "paused"
    """Nothing is sent. Events are stored meanwhile and sent later."""

    OFF = "off"
    """Nothing is sent or stored: the receiver answered 410."""

    REMOVED = "removed"
    """No longer shown; its rows are deleted step by step."""


class AlertKind(StrEnum):
    """What operators can be alerted of."""

    STUCK = "stuck"
    ANOMALY = "anomaly"
    CHAIN_QUIET = "chain_quiet"
    AUDIT_BROKEN = "audit_broken"

    AUDIT_HEAD = "audit_head"
    """Each head of the audit log, for the receiver to store. It is no condition that holds and ends."""


class DeliveryState(StrEnum):
    """The outcome of a delivery."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"
    """Every attempt failed. Only a replay sends it again."""


def account_subject(key: str) -> str:
    """The subject of an account.

    :param key: its ``account_key``.
    """
    return f"account:{key}"


def transfer_subject(transfer_id: bytes) -> str:
    """The subject of a transfer."""
    return f"transfer:0x{transfer_id.hex()}"


def subjects_of(accounts: Iterable[str], transfer_ids: Iterable[bytes]) -> list[str]:
    """The subjects of accounts, in any case of letters, and transfers; each once."""
    found = [account_subject(account_key(account)) for account in accounts]
    found += [transfer_subject(transfer_id) for transfer_id in transfer_ids]
    return list(dict.fromkeys(found))


SECRET_PREFIX: Final = "whsec_"  # noqa: S105  how every secret begins
_LABEL: Final = b"transfer gateway webhook secret"


def secret_of(key: bytes, salt: bytes) -> bytes:
    """The 32 bytes that a subscription signs with.

    They are derived from a key that is stored outside of the database, so a copy of the database cannot sign.

    :param salt: 32 random bytes, stored with the subscription.
    """
    return hmac.digest(key, _LABEL + salt, "sha256")


def secret_text(secret: bytes) -> str:
    """A secret as its receiver sees it."""
    return SECRET_PREFIX + b64encode(secret).decode()


def headers(message_id: str, at: int, body: bytes, secrets: Iterable[bytes]) -> Mapping[str, str]:
    """The headers of one attempt.

    :param at: the time of the attempt, in seconds since 1970.
    :param secrets: each signs; two while a secret is replaced.
    """
    signed = f"{message_id}.{at}.".encode() + body
    signatures = (b64encode(hmac.digest(secret, signed, "sha256")).decode() for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
