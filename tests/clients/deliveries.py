"""Deliveries of webhooks, signed as the specification of Standard Webhooks says."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode

SECRET, OTHER = (f"whsec_{b64encode(bytes([n]) * 32).decode()}" for n in (1, 2))
NOW = 1_790_000_000
BODY = '{"type":"transfer.status","timestamp":"2026-01-01T00:00:00Z","data":{"status":5,"memo":"é"}}'


def signature(secret: str = SECRET, body: str = BODY, moment: int = NOW, name: str = "msg_1") -> str:
    """What the specification of Standard Webhooks says that is sent."""
    key = b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{name}.{moment}.{body}".encode(), hashlib.sha256).digest()
    return f"v1,{b64encode(digest).decode()}"
