"""Webhooks: whether a delivery comes from the gateway (Standard Webhooks, signature v1)."""

from __future__ import annotations

import hmac
import json
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

TOLERANCE_SECONDS = 300
"""How far the time of a delivery may be from now, on either side."""

PREFIX = "whsec_"
HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")
TIME = re.compile("[0-9]{1,12}")


class WebhookError(Exception):
    """The delivery is not to be believed."""


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    now: float | None = None,
) -> dict[str, Any]:
    """The event of a delivery that one of the secrets has signed. The same ``webhook-id`` may come again:
    store the ids that were handled.

    :param body: as it was received, before any reader of JSON has touched it.
    :param secrets: ``whsec_…``; two while one replaces the other.
    :param now: seconds since 1970, for tests.
    :raises WebhookError: a header is missing, the time is too far away, no signature fits, a secret is none.
    """
    given = {name.lower(): value for name, value in headers.items()}
    if missing := [name for name in HEADERS if name not in given]:
        raise WebhookError(f"a header is missing: {missing[0]}")
    name, moment, signatures = (given[name] for name in HEADERS)
    if not TIME.fullmatch(moment):
        raise WebhookError("webhook-timestamp cannot be read")
    if abs((time.time() if now is None else now) - int(moment)) > TOLERANCE_SECONDS:
        raise WebhookError("the time of the delivery is too far from now")
    content = body.encode() if isinstance(body, str) else body
    signed = f"{name}.{moment}.".encode() + content
    right = [_signature(secret, signed) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    sent = [each.encode() for each in signatures.split(" ")]
    # Compared all, so that the time does not show which one is right.
    if not sum(hmac.compare_digest(one, other) for one in right for other in sent):
        raise WebhookError("no signature is by this secret")
    event: dict[str, Any] = json.loads(content)
    return event


def _signature(secret: str, signed: bytes) -> bytes:
    try:
        key = b64decode("".join(secret.split()).removeprefix(PREFIX), validate=True)
    except ValueError:
        key = b""
    if not key:  # anybody can sign with an empty key
        raise WebhookError("a secret cannot be read: it must be whsec_ and base64, as the gateway showed it")
    return b"v1," + b64encode(hmac.digest(key, signed, "sha256"))
