"""Emails and passwords that users type, and the number of recovery codes."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

MIN_PASSWORD_LENGTH: Final = 12
MAX_PASSWORD_LENGTH: Final = 256
MAX_EMAIL_LENGTH: Final = 254

RECOVERY_CODES: Final = 10
"""How many recovery codes are made at a time."""

_EMAIL: Final = re.compile(r"[^\s@\"<>(),:;\\\[\]]+@[^\s@\"<>(),:;\\\[\]]+")


def normal_email(text: str) -> str | None:
    """The address in the one spelling that identifies an account; None where it is none."""
    email = text.strip().lower()
    if len(email) > MAX_EMAIL_LENGTH or not _EMAIL.fullmatch(email) or not email.isprintable():
        return None
    return email


def normal_password(text: str) -> str:
    """The password in the one form that is hashed: keyboards write the same letter in several ways (NFKD)."""
    return unicodedata.normalize("NFKD", text)


def is_too_long(password: str) -> bool:
    """Whether the password is longer than allowed, also in the form that is hashed."""
    return len(password) > MAX_PASSWORD_LENGTH or len(normal_password(password)) > MAX_PASSWORD_LENGTH


def password_complaint(password: str, email: str) -> str | None:
    """Why the password cannot be used, in a sentence; None where it can."""
    if len(password) < MIN_PASSWORD_LENGTH:
        return f"Enter a password of at least {MIN_PASSWORD_LENGTH} characters."
    if is_too_long(password):
        return f"Enter a password of at most {MAX_PASSWORD_LENGTH} characters."
    if len(set(password)) < 5:
        return "Enter a password with more different characters."
    if password.lower() == email:
        return "Enter a password that differs from the email address."
    return None
