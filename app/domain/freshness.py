"""Ages in words that people read."""

from __future__ import annotations

from datetime import timedelta

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def age_in_words(age: timedelta) -> str:
    """Such as ``12 s ago``, ``3 min ago``, ``5 h ago``, ``2 d ago``: the largest whole unit, cut.

    Under a second, and in the future: ``just now``.
    """
    seconds = age // timedelta(seconds=1)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now"


def span_in_words(duration: timedelta) -> str:
    """A duration in its two largest units, such as ``2 h 5 min``; parts of a second are cut."""
    seconds = int(duration.total_seconds())
    parts: list[str] = []
    for size, unit in _UNITS:
        count, seconds = divmod(seconds, size)
        if count or (size == 1 and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
