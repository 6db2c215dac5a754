"""How often a caller may send requests, counted in windows of time (limits such as ``20/second;1000/hour``).

A window begins with the first request and ends after its seconds; the next one begins with the next request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from app.http.limit_counts import Limit, LimitStore
from app.values.codes import Reason
from app.values.errors import GatewayError
from app.values.ip_addresses import IPAddress, counted_network

_LIMIT: Final = re.compile(
    r"\s*(\d+)\s*(?:/|per)\s*(\d*)\s*(second|minute|hour|day|month|year)s?\s*", re.IGNORECASE | re.ASCII
)
_SECONDS: Final = {
    "second": 1, "minute": 60, "hour": 3600, "day": 86_400, "month": 30 * 86_400, "year": 360 * 86_400,
}  # fmt: skip


class LimitUsage(NamedTuple):
    """The use of the limit that has the least left, this request included.

    ``reset_seconds``: whole seconds until its window ends, at least one. ``is_over``: this request exceeded
    it.
    """

    limit: int
    remaining: int
    reset_seconds: int
    is_over: bool


@lru_cache(maxsize=4096)
def limits_of(text: str) -> tuple[Limit, ...]:
    """The limits in a text, those of the shortest windows first; none for an empty one.

    :raises ValueError: it cannot be read.
    """
    return tuple(sorted(map(_limit, re.split("[,;|]", text)), key=lambda each: each.seconds)) if text else ()


def _limit(text: str) -> Limit:
    """One of them, such as ``100/minute``, ``100 per minute`` or ``100/5 minutes``."""
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise ValueError(f"not a limit: {text!r}")
    amount, windows, unit = found.groups()
    return Limit(int(amount), (int(windows or 1) or 1) * _SECONDS[unit.lower()])


class Windows:
    """Counts one kind of request for each caller."""

    def __init__(self, kind: str, store: LimitStore) -> None:
        """
        :param kind: what is counted, in one word: each kind has its own counters in a store.
        """
        self._kind = kind
        self._store = store

    def count(self, limits: Sequence[Limit], who: str) -> LimitUsage:
        """Count once by each of the limits, up to the first that does not allow it.

        :param limits: one or more, in the order in which they are checked.
        """
        if not limits:
            raise ValueError("there is no limit to count by")
        counts = self._store.count(f"{self._kind}:{who}", limits)
        limit, (times, milliseconds) = min(
            zip(limits, counts, strict=False), key=lambda each: each[0].amount - each[1][0]
        )
        left = limit.amount - times
        return LimitUsage(limit.amount, max(0, left), max(1, -(-milliseconds // 1000)), left < 0)


class RefundRequestLimit:
    """Counts the refund requests of each caller, over both interfaces together: each can cost a write."""

    def __init__(self, limit: str, store: LimitStore) -> None:
        """
        :param limit: such as ``10/minute``.
        """
        self._limits = limits_of(limit)
        self._windows = Windows("refund-requests", store)

    def count(self, caller: IPAddress | None) -> None:
        """Count one refund request of a caller.

        :raises GatewayError: this caller sends too many.
        """
        usage = self._windows.count(self._limits, counted(caller))
        if usage.is_over:
            raise GatewayError(
                "too many refund requests: one for each transfer is enough",
                reason=Reason.RATE_LIMITED,
                retry_after=usage.reset_seconds,
            )


def counted(caller: IPAddress | None) -> str:
    """The name under which a caller is counted. All with unknown addresses count as one."""
    return counted_network(caller) if caller is not None else "unknown"
