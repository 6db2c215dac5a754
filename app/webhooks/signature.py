"""Signatures of the Standard Webhooks specification, version v1 (docs/webhooks.md#verify)."""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Final

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
