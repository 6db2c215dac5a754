"""What a transfer's state adds to sums that many transfers share: pools, epochs, latencies."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime

from app.domain.codes import SendKind, TransferHistoryStatus
from app.domain.keys import ChainId, PoolKey
from app.domain.pools import PoolCounters
from app.domain.times import MICROSECOND, minute_of
from app.domain.transfer.state import TransferState

VolumeKey = tuple[ChainId, str, int]
"""Chain id, symbol and minute since the Unix epoch."""


@dataclass(slots=True)
class SharedChange:
    """The sum of many transfers' changes to pools and epoch volumes."""

    counters: dict[PoolKey, PoolCounters] = field(default_factory=lambda: defaultdict(PoolCounters))
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
                key = PoolKey(state.src_chain_id, state.symbol)
                self.counters[key] += PoolCounters(sent=sign * state.amount)
        if state.relayed_amount is not None and state.dst_chain_id is not None:
            key = PoolKey(state.dst_chain_id, state.symbol)
            self.counters[key] += PoolCounters(relayed=sign * state.relayed_amount)


@dataclass(frozen=True, slots=True)
class Latency:
    """How long one completed transfer took, and when it was released."""

    src_chain_id: ChainId
    dst_chain_id: ChainId
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
