"""What a transfer's state adds to sums that many transfers share: pools, epochs, latencies."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from app.domain.codes import SendKind, TransferHistoryStatus
from app.domain.transfer.events import FeeUpdated
from app.domain.transfer.state import TransferState

PoolKey = tuple[int, str]
"""Chain id and symbol."""

VolumeKey = tuple[int, str, int]
"""Chain id, symbol and minute since the Unix epoch."""

FeeKey = tuple[str, int, int]
"""Symbol, source and destination chain of a route."""


def fee_key(event: FeeUpdated) -> FeeKey:
    """The route that a fee is of."""
    return event.symbol, event.src_chain_id, event.dst_chain_id


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)
class CounterChange:
    """How much each counter of one pool moves, in the pool token's smallest units."""

    added: int = 0
    sent: int = 0
    relayed: int = 0
    withdrawn: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.sent or self.relayed or self.withdrawn)


@dataclass(slots=True)
class SharedChange:
    """The sum of many transfers' changes to pools and epoch volumes."""

    counters: dict[PoolKey, CounterChange] = field(default_factory=lambda: defaultdict(CounterChange))
    volumes: dict[VolumeKey, int] = field(default_factory=lambda: defaultdict(int))

    def replace(self, old: TransferState | None, new: TransferState) -> None:
        """Subtract what ``old`` contributed and add what ``new`` does."""
        if old is not None:
            self.add(old, -1)
        self.add(new)

    def add(self, state: TransferState, sign: int = 1) -> None:
        """Add what a state contributes, or with -1 subtract it."""
        if state.kind is not SendKind.POOL or state.symbol is None or state.amount is None:
            return
        if state.sent_at is not None and state.src_chain_id is not None:
            self.volumes[state.src_chain_id, state.symbol, minute_of(state.sent_at)] += sign * state.amount
            if state.status is not TransferHistoryStatus.TRANSFER_REFUNDED:
                self.counters[state.src_chain_id, state.symbol].sent += sign * state.amount
        if state.relayed_amount is not None and state.dst_chain_id is not None:
            self.counters[state.dst_chain_id, state.symbol].relayed += sign * state.relayed_amount


def minute_of(at: datetime) -> int:
    """Whole minutes since the Unix epoch: the bucket that a send's volume is kept in."""
    return (at - EPOCH) // timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Latency:
    """How long one completed transfer took, and when it was released."""

    src_chain_id: int
    dst_chain_id: int
    released_at: datetime
    microseconds: int


def latency_of(state: TransferState | None) -> Latency | None:
    """The latency that a state counts for: completed, both ends known, not negative."""
    if state is None or state.status is not TransferHistoryStatus.TRANSFER_COMPLETED:
        return None
    if None in (state.src_chain_id, state.dst_chain_id, state.sent_at, state.released_at):
        return None
    assert state.src_chain_id is not None and state.dst_chain_id is not None  # noqa: S101  for types
    assert state.sent_at is not None and state.released_at is not None  # noqa: S101  for types
    microseconds = (state.released_at - state.sent_at) // MICROSECOND
    if microseconds < 0:
        return None
    return Latency(state.src_chain_id, state.dst_chain_id, state.released_at, microseconds)
