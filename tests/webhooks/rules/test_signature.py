"""Signatures, as the specification's own library verifies them."""

import json
import time

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from app.webhooks.rules.subscription import headers, secret_of, secret_text

KEY, BODY = b"a key outside of the database", b'{"type":"transfer.status"}'
NEW, OLD = secret_of(KEY, b"n" * 32), secret_of(KEY, b"o" * 32)


@pytest.mark.parametrize("secret", [NEW, OLD])
def test_both_secrets_verify_during_rotation(secret: bytes) -> None:
    signed = headers("msg_1", int(time.time()), BODY, [NEW, OLD])
    assert Webhook(secret_text(secret)).verify(BODY, dict(signed)) == json.loads(BODY)


@pytest.mark.parametrize(
    "changed",
    [
        {"webhook-id": "msg_2"},
        {"webhook-timestamp": str(int(time.time()) - 10)},
        {"webhook-signature": "v1,AAAA"},
    ],
)
def test_changed_message_is_not_verified(changed: dict[str, str]) -> None:
    signed = dict(headers("msg_1", int(time.time()), BODY, [NEW])) | changed
    with pytest.raises(WebhookVerificationError):
        Webhook(secret_text(NEW)).verify(BODY, signed)


def test_secrets_differ_by_key_and_by_salt() -> None:
    assert len({NEW, OLD, secret_of(b"another key", b"n" * 32)}) == 3
    assert len(NEW) == 32
