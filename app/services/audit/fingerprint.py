"""What an operator saw, handed back with the edit: so that nobody overwrites what they have not seen."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import orjson

from app.domain.difference import difference
from app.services.audit.results import Conflict

MAX_FINGERPRINT: Final = 4_000_000
"""Characters; a row has some hundreds, ten thousand fees about a million."""


def fingerprint(seen: Mapping[str, Any]) -> str:
    """What is shown, as a text for a hidden field; equal for what is equal.

    It holds the values themselves, so that a conflict can tell what changed meanwhile.
    """
    return base64.urlsafe_b64encode(orjson.dumps(seen, option=orjson.OPT_SORT_KEYS)).decode()


def require_seen(subject: str, seen: str | None, now: Mapping[str, Any] | None) -> None:
    """Make sure that what stands now is what the operator saw.

    :param seen: their fingerprint of it.
    :param now: what stands; None where it was removed.
    :raises Conflict: with what changed meanwhile.
    """
    shown = values_seen(seen)
    if now is None:
        raise Conflict(f"{subject} was removed meanwhile", difference(shown, None))
    if shown is None or shown != now:
        raise Conflict(
            f"{subject} was changed meanwhile: look at it again, then repeat your change",
            () if shown is None else difference(shown, now),
        )


def values_seen(seen: str | None) -> dict[str, Any] | None:
    """The values in a fingerprint; None for what is none."""
    if not seen or len(seen) > MAX_FINGERPRINT:
        return None
    try:
        values = orjson.loads(base64.urlsafe_b64decode(seen.encode()))
    except (binascii.Error, ValueError):
        return None
    return values if isinstance(values, dict) else None
