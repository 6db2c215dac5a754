"""The four counters of a liquidity pool, and what follows from them (docs/interface.md#pools)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PoolCounters:
    """What went into one pool and out of it, in the smallest units of its token; or a change of that.

    ``added`` and ``withdrawn`` are by liquidity providers, ``sent`` and ``relayed`` by transfers. Each
    counter, and what is computed from them, may be negative: events come in any order.
    """

    added: int = 0
    sent: int = 0
    relayed: int = 0
    withdrawn: int = 0

    def __add__(self, other: PoolCounters) -> PoolCounters:
        return PoolCounters(
            self.added + other.added,
            self.sent + other.sent,
            self.relayed + other.relayed,
            self.withdrawn + other.withdrawn,
        )

    def __sub__(self, other: PoolCounters) -> PoolCounters:
        return PoolCounters(
            self.added - other.added,
            self.sent - other.sent,
            self.relayed - other.relayed,
            self.withdrawn - other.withdrawn,
        )

    def __bool__(self) -> bool:
        return bool(self.added or self.sent or self.relayed or self.withdrawn)

    @property
    def balance(self) -> int:
        """What the pool holds."""
        return self.added + self.sent - self.relayed - self.withdrawn

    @property
    def inbound_limit(self) -> int:
        """The largest amount that the pool takes in with one transfer."""
        return self.added - self.relayed - self.withdrawn


def opening_counters(row: Mapping[str, Any]) -> PoolCounters:
    """The counters before the first event, from a row of the table of pools or of the document."""
    return PoolCounters(
        int(row["liquidity_added"]),
        int(row["liquidity_sent"]),
        int(row["liquidity_relayed"]),
        int(row["liquidity_withdrawn"]),
    )
