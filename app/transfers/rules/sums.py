"""The contributions of a transfer's state to shared sums and lists: pools, epochs, latencies, trends,
histories.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct, field

from app.network.rules.pools import PoolCounters
from app.transfers.rules.projected import TransferState
from app.values.codes import REFUND_STATUSES, SendKind, TransferHistoryStatus
from app.values.identifiers import ChainId, PoolKey, TransferId, account_key
from app.values.times import MICROSECOND, hour_of, minute_of, unix_milliseconds

VolumeKey = tuple[ChainId, str, int]
"""Chain id, symbol and minute since the Unix epoch."""


class TrendKey(NamedTuple):
    """Transfers of one kind and way that began within one hour (hours since the Unix epoch).

    ``kind`` is a ``SendKind``, or empty where only a submission is known.
    """

    hour: int
    kind: str
    src_chain_id: ChainId
    dst_chain_id: ChainId
    symbol: str


class Trends(Struct):
    """Counts and amounts of some transfers by their outcome; or a change of these, which may be negative.

    ``refund`` counts those that are being or were refunded. Amounts are in smallest units: ``sent`` of all
    that were sent and ``paid_for`` of those that were paid out, in the source token, and ``received`` of the
    latter in the destination token.
    """

    begun: int = 0
    completed: int = 0
    refund: int = 0
    failed: int = 0
    sent: int = 0
    paid_for: int = 0
    received: int = 0

    def add(self, other: Trends, sign: int = 1) -> None:
        """Add other transfers, or with -1 subtract them."""
        self.begun += sign * other.begun
        self.completed += sign * other.completed
        self.refund += sign * other.refund
        self.failed += sign * other.failed
        self.sent += sign * other.sent
        self.paid_for += sign * other.paid_for
        self.received += sign * other.received

    def __bool__(self) -> bool:
        counts = self.begun or self.completed or self.refund or self.failed
        return bool(counts or self.sent or self.paid_for or self.received)


class SharedChange(Struct):
    """The sum of many transfers' changes to pools, epoch volumes and trends."""

    counters: dict[PoolKey, PoolCounters] = field(default_factory=lambda: defaultdict(PoolCounters))
    volumes: dict[VolumeKey, int] = field(default_factory=lambda: defaultdict(int))
    trends: dict[TrendKey, Trends] = field(default_factory=lambda: defaultdict(Trends))

    def replace(self, old: TransferState | None, new: TransferState) -> None:
        if old is not None:
            self.add(old, -1)
        self.add(new)

    def add(self, state: TransferState, sign: int = 1) -> None:
        """With -1 subtract what the state contributes."""
        if (trend := trend_key(state)) is not None:
            self.trends[trend].add(_trend(state), sign)
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


def trend_key(state: TransferState) -> TrendKey | None:
    """The key of the trends that count a transfer. Its hour is that of the first report: no reorg changes it.
    None while the transfer has no canonical event, and where its chains or its token are not known.
    """
    src, dst, symbol = state.src_chain_id, state.dst_chain_id, state.symbol
    if state.began_at is None or src is None or dst is None or symbol is None:
        return None
    if state.status is TransferHistoryStatus.TRANSFER_UNKNOWN:
        return None
    return TrendKey(hour_of(state.began_at), state.kind.value if state.kind else "", src, dst, symbol)


def _trend(state: TransferState) -> Trends:
    amount = state.amount or 0
    completed = state.status is TransferHistoryStatus.TRANSFER_COMPLETED
    paid = completed and state.sent_at is not None and state.received_amount is not None
    return Trends(
        begun=1,
        completed=int(completed),
        refund=int(state.status in REFUND_STATUSES),
        failed=int(state.status is TransferHistoryStatus.TRANSFER_FAILED),
        sent=amount if state.sent_at is not None else 0,
        paid_for=amount if paid else 0,
        received=(state.received_amount or 0) if paid else 0,
    )


class Latency(Struct, frozen=True):
    """How long one completed transfer took, and when it was released."""

    src_chain_id: ChainId
    dst_chain_id: ChainId
    released_at: datetime
    microseconds: int


def latency_of(state: TransferState | None) -> Latency | None:
    """The latency of a transfer; None unless it is completed, both ends are known and the latency is not
    negative.
    """
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


class AccountEntry(NamedTuple):
    """A transfer in the list of one of its accounts; times in milliseconds since 1970."""

    account: str
    began_ms: int
    transfer_id: TransferId


def account_entries(states: Iterable[TransferState]) -> set[AccountEntry]:
    """The entries of transfers: one for the sender, and one for the receiver where it is another account."""
    return {
        AccountEntry(account_key(account), unix_milliseconds(state.began_at), state.transfer_id)
        for state in states
        if state.began_at is not None
        for account in (state.sender, state.receiver)
        if account
    }
