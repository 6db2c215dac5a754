"""Tokens as texts and digests."""

from __future__ import annotations

import hashlib
import os

import pytest

from app.credentials.rules.credential import digest_of
from app.credentials.rules.ingest_token import (
    EVERYTHING,
    MAX_EVENTS,
    MAX_SECONDS,
    IngestToken,
    environment_token,
    is_token_name,
    key_id_of,
    quota_fault,
    token_text,
)

SECRET = "A" * 21 + "_-" + "b" * 20
TOKEN = f"gwi_0123456789abcdef_{SECRET}"


def test_token_text_joins_key_id_and_secret() -> None:
    assert token_text("0123456789abcdef", SECRET) == TOKEN
    assert key_id_of(TOKEN.encode()) == "0123456789abcdef"


def test_other_texts_have_no_public_id() -> None:
    spoiled = (TOKEN[:-1], TOKEN + "A", TOKEN + "\n", " " + TOKEN, TOKEN.replace("-", "+"))
    other_parts = (TOKEN.replace("a", "A"), TOKEN.replace("gwi", "gwj"), "test-ingest-token", "")
    for text in spoiled + other_parts:
        assert key_id_of(text.encode()) is None, text


def test_digest_is_sha256_of_the_token() -> None:
    token = IngestToken("name", digest_of(TOKEN.encode()))
    assert token.digest == hashlib.sha256(TOKEN.encode()).digest()
    assert token.is_(TOKEN.encode())
    for wrong in (
        b"",
        TOKEN.encode()[:-1],
        token.digest,
        token.digest.hex().encode(),
        TOKEN.lower().encode(),
    ):
        assert not token.is_(wrong)
    assert token.scope is EVERYTHING


def test_token_of_environment_has_a_name() -> None:
    token = environment_token("s3cret")
    assert token.name == "env-" + hashlib.sha256(b"s3cret").hexdigest()[:8]
    assert token.is_(b"s3cret")
    assert token.scope is EVERYTHING
    assert token.key_id is None
    not_text = environment_token(os.fsdecode(b"\xff\xfe"))  # as os.environ gives it
    assert not_text.is_(b"\xff\xfe")


def test_token_name_is_valid_or_not() -> None:
    for name in ("a", "0", "relayer-1", "bsc.watcher_2", "client", "environment", "a" * 64):
        assert is_token_name(name), name
    for name in ("", "A", "-a", ".a", "a b", "a/b", "a\n", "é", "a" * 65, "cli", "sandbox", "env-", "env-1"):
        assert not is_token_name(name), name


@pytest.mark.parametrize(
    ("events", "seconds", "fault"),
    [
        (None, None, None),
        (1, 1, None),
        (MAX_EVENTS, MAX_SECONDS, None),
        (1, None, "both"),
        (None, 1, "both"),
        (0, 1, "events"),
        (MAX_EVENTS + 1, 1, "events"),
        (1, 0, "period"),
        (1, MAX_SECONDS + 1, "period"),
    ],
)
def test_quota_has_bounds(events: int | None, seconds: int | None, fault: str | None) -> None:
    found = quota_fault(events, seconds)
    assert found is None if fault is None else fault in str(found)
