"""The setting of how old the feed of a chain may be. Only ``config.py`` reads the environment."""

from __future__ import annotations

from typing import Any, Final

_MOST_SECONDS: Final = 30 * 86_400
_SAYS = "must be seconds, and for single chains their ids with seconds, such as 600 or 600,1:120,137:0"


def feed_limits(value: Any) -> Any:
    """Seconds by chain of a text such as ``600,137:60``. Chain 0 stands for all that are not named.

    :raises ValueError: it is not such a text, or a chain is named twice.
    """
    if not isinstance(value, str):
        return value
    limits: dict[int, int] = {}
    for part in filter(None, map(str.strip, value.split(","))):
        chain, _, seconds = part.rpartition(":")
        chain_id = _number(chain) if ":" in part else 0
        if (":" in part) != (chain_id > 0) or chain_id in limits:
            raise ValueError(_SAYS)
        limits[chain_id] = _number(seconds)
        if limits[chain_id] > _MOST_SECONDS:
            raise ValueError("allows no feed to be older than 30 days")
    return tuple(limits.items())


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(_SAYS)
    return int(text)
