"""Hashes and generates passwords."""

from __future__ import annotations

import secrets
from typing import Final

from argon2 import PasswordHasher

from app.cooperation import one_at_a_time

_HASHER: Final = PasswordHasher()  # Argon2id with the library's parameters, which follow RFC 9106


def hash_password(password: str) -> str:
    """The Argon2id hash, with its salt and parameters, as one string."""
    return one_at_a_time(_HASHER.hash, password)


def generate_password() -> str:
    """A random password of 120 bits in 20 characters."""
    return secrets.token_urlsafe(15)
