"""The four counters of a liquidity pool, and what follows from them
(docs/interface/pools-and-latency.md#pools).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field


class PoolCounters(Struct, frozen=True):
    """The amounts that went into one pool and out of it, in the smallest units of its token; or a change of
    these.

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


class PoolState(Struct, frozen=True):
    """A pool with its caps, in the smallest units of its own token.

    A cap of ``None`` is no cap. ``epoch_volume`` was sent from the pool in the current epoch;
    ``epoch_seconds`` is only named in the refusal for a reached epoch cap.
    """

    counters: PoolCounters = field(default_factory=PoolCounters)
    total_cap: int | None = None
    epoch_cap: int | None = None
    epoch_volume: int = 0
    epoch_seconds: int | None = None

    @property
    def balance(self) -> int:
        """The balance, at least 0: events may be missing (docs/interface/pools-and-latency.md#pools)."""
        return max(0, self.counters.balance)

    @property
    def inbound_limit(self) -> int:
        """The largest amount that the pool takes in with one transfer, at least 0."""
        return max(0, self.counters.inbound_limit)

    @property
    def epoch_rest(self) -> int | None:
        """What can still be sent from the pool in this epoch; under 0 where the cap was lowered since."""
        return None if self.epoch_cap is None else self.epoch_cap - self.epoch_volume

    @property
    def total_rest(self) -> int | None:
        """What the pool accepts until it reaches its total cap; under 0 where it exceeds the cap."""
        return None if self.total_cap is None else self.total_cap - self.balance

    @property
    def rest(self) -> int:
        """The most that one transfer can still send from the pool, by all its limits; may be negative."""
        rests = (self.inbound_limit, self.epoch_rest, self.total_rest)
        return min(rest for rest in rests if rest is not None)

    def moved_by(self, change: PoolCounters, epoch_volume: int = 0) -> PoolState:
        """The pool after events: counters changed, and what was sent from it in the current epoch."""
        return PoolState(
            self.counters + change, self.total_cap, self.epoch_cap, epoch_volume, self.epoch_seconds
        )
