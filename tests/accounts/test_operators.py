"""How long guessers wait, and what replaces texts that nobody may read."""

from __future__ import annotations

import pytest

from app.accounts.rules.guesses import FailureScope, typed_name, wait_after
from app.accounts.rules.sign_in import is_too_long, normal_email


@pytest.mark.parametrize(
    ("scope", "free", "most"),
    [
        (FailureScope.PAIR, 4, 900),
        (FailureScope.DEVICE, 4, 900),
        (FailureScope.ADDRESS, 20, 900),
        (FailureScope.ACCOUNT, 50, 10),
    ],
)
def test_waits_double_up_to_a_limit(scope: FailureScope, free: int, most: int) -> None:
    waits = [wait_after(scope, failures).total_seconds() for failures in range(free + 4)]
    assert waits == [0] * (free + 1) + [2, 4, 8]
    assert wait_after(scope, 10**9).total_seconds() == most


def test_name_reveals_nothing_typed() -> None:
    name = typed_name(b"key", "My Password")
    assert name == typed_name(b"key", " my password\n")
    assert len({name, typed_name(b"key", "my passwort"), typed_name(b"another key", "My Password")}) == 3
    assert (len(name), int(name, 16) > 0) == (24, True)
    assert typed_name(b"key", "\ud800")


@pytest.mark.parametrize(
    "text", ["a@b.c\0", "a\x1b@b.c", "a@b\u2028c", "a@b\x85c", "\ud800@b.c", "a@\u202eb.c", "a b@c"]
)
def test_unshowable_text_is_no_email(text: str) -> None:
    assert normal_email(text) is None


def test_password_is_measured_as_hashed() -> None:
    assert not is_too_long("x" * 256)
    assert is_too_long("x" * 257)
    assert not is_too_long("\ufb01" * 128)
    assert is_too_long("\ufb01" * 129), "each is two letters"
