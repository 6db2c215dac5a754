"""How long sessions and devices last, and why a session ends before its time."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final

SESSION_IDLE: Final = timedelta(hours=1)
"""A session that was not used for so long has ended."""

SESSION_LIFETIME: Final = timedelta(hours=12)
"""A session ends so long after its sign-in, used or not: a shift."""

STEP_UP_AFTER: Final = timedelta(minutes=10)
"""A sensitive change needs password, code or passkey again when the last proof is older than this."""

DEVICE_LIFETIME: Final = timedelta(days=180)
"""A browser that signed in counts as known so long after its last sign-in."""


class SessionEnd(StrEnum):
    """Why a session ended before its time."""

    EVERYWHERE = "everywhere"
    """Its owner signed out everywhere."""
    ELSEWHERE = "elsewhere"
    """Its owner ended it from another browser."""
    BY_ADMIN = "by_admin"
    PASSWORD = "password"  # noqa: S105  a reason, not one
    """The account's password changed."""
    SECOND_FACTOR = "second_factor"
    """The account's second factor changed, or is demanded and missing."""
    SWITCHED_OFF = "switched_off"
