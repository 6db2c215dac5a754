"""What is a key, what is none, and what its bearer may do."""

from __future__ import annotations

import pytest

from app.credentials.rules.api_key import ApiKey, Scope, key_id_of, key_in, key_text
from app.credentials.rules.credential import digest_of

ID, SECRET = "0123456789abcdef", "aZ9" * 14 + "x"
TEXT = key_text(ID, SECRET)


def key(*scopes: Scope) -> ApiKey:
    return ApiKey("wallet", digest_of(TEXT.encode()), 1, ID, frozenset(scopes))


def test_key_text_contains_public_id() -> None:
    assert f"gwk_{ID}{SECRET}" == TEXT
    assert key_id_of(TEXT) == ID


@pytest.mark.parametrize(
    "text",
    ["", "gwk_", TEXT[:-1], TEXT + "x", TEXT + "\n", f"gwk_{ID.upper()}{SECRET}", f"gwi_{ID}{SECRET}"]
    + [f"gwk_{ID}{SECRET[:-1]}{sign}" for sign in "_-é٣"],
)
def test_other_text_is_no_key(text: str) -> None:
    assert key_id_of(text) is None


def test_key_matches_only_its_whole_text() -> None:
    assert key(Scope.READ).is_(TEXT.encode())
    for wrong in (TEXT[:-1] + "y", TEXT[:-1], f"gwk_{ID[:-1]}0{SECRET}", ""):
        assert not key(Scope.READ).is_(wrong.encode())


@pytest.mark.parametrize(
    ("header", "presented"),
    [
        (f"Bearer {TEXT}", TEXT),
        (f"bearer   {TEXT} ", TEXT),
        ("Bearer gwk_short", "gwk_short"),
        ("Bearer", None),
        ("", None),
        (TEXT, None),
        (f"Basic {TEXT}", None),
        ("Bearer eyJhbGciOi.J9", None),
        (f"Bearer gwi_{ID}_{SECRET}", None),
    ],
)
def test_header_presents_key(header: str, presented: str | None) -> None:
    assert key_in(header) == presented


def test_scopes_allow_only_own_operations() -> None:
    assert [key(Scope.READ).may(scope) for scope in Scope] == [True, False, False]
    assert [key(Scope.WEBHOOKS).may(scope) for scope in Scope] == [False, True, False]
    assert [key(Scope.ALL_WEBHOOKS).may(scope) for scope in Scope] == [False, True, True]
