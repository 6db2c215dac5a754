"""Fingerprints of what an operator was shown, so that an edit cannot overwrite a change made meanwhile.

A page that shows a row carries its fingerprint in a hidden field, and the edit hands it back.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import orjson

from app.domain.difference import difference
from app.services.audit.results import Conflict

MAX_FINGERPRINT: Final = 4_000_000
"""Characters. A row has some hundreds, ten thousand fees have about a million."""


def fingerprint(values: Mapping[str, Any]) -> str:
    """The values as text for a hidden field. Equal values have equal fingerprints.

    It holds the values themselves, so that a conflict can say what changed meanwhile.
    """
    return base64.urlsafe_b64encode(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)).decode()


def require_unchanged(subject: str, shown: str | None, now: Mapping[str, Any] | None) -> None:
    """Make sure that the values are still those that the operator was shown.

    :param subject: the name of what is edited, for the message.
    :param shown: the fingerprint that the edit handed back.
    :param now: the present values; None where the row was removed.
    :raises Conflict: with what changed meanwhile.
    """
    values = shown_values(shown)
    if now is None:
        raise Conflict(f"{subject} was removed while you were editing", difference(values, None))
    if values is None or values != now:
        raise Conflict(
            f"{subject} was changed while you were editing; check it, then repeat your change",
            () if values is None else difference(values, now),
        )


def shown_values(shown: str | None) -> dict[str, Any] | None:
    """The values in a fingerprint; None for any text that is not a fingerprint."""
    if not shown or len(shown) > MAX_FINGERPRINT:
        return None
    try:
        values = orjson.loads(base64.urlsafe_b64decode(shown.encode()))
    except (binascii.Error, ValueError):
        return None
    return values if isinstance(values, dict) else None
