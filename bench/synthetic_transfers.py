"""Any number of made-up transfers, each a function of its number: its events, and the rows they lead to.

Nearly all are completed, as in production. The others end in every other state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec.structs import replace

from app.sandbox.catalogue import decimals_of
from app.sandbox.feed import SERIES
from app.sandbox.reports import PACES, Event, block_at
from app.sandbox.transfer_builder import (
    QUORUM,
    UNDER_QUORUM,
    SendDetails,
    TransferBuilder,
    user,
    with_evidence,
)
from app.values.codes import SendKind, XferStatus
from app.values.crypto import checksum_address
from app.values.times import MICROSECOND, UNIX_EPOCH, from_unix_microseconds, unix_microseconds

UNUSUAL_IN: Final = 200
"""One in so many transfers is not (yet) completed."""

_SLOW_IN: Final = 50
_LONGEST_TRANSFER: Final = timedelta(hours=1)
_USERS: Final = 100

_UNUSUAL: Final[tuple[Callable[[TransferBuilder], TransferBuilder], ...]] = (
    lambda transfer: transfer.submitted(),
    lambda transfer: transfer.submitted().sent(),
    lambda transfer: transfer.sent().confirmed(),
    lambda transfer: transfer.sent().confirmed().network_status(XferStatus.SUCCESS),
    lambda transfer: transfer.sent().confirmed().network_status(XferStatus.SUCCESS).delayed(),
    lambda transfer: transfer.submitted().failed("reverted"),
    lambda transfer: transfer.submitted().failed("dropped"),
    lambda transfer: transfer.sent().confirmed().network_status(XferStatus.BAD_SLIPPAGE),
    lambda transfer: transfer.sent().confirmed().network_status(XferStatus.BAD_LIQUIDITY).refund_requested(),
    lambda transfer: with_evidence(transfer.sent().network_status(XferStatus.BAD_SLIPPAGE), UNDER_QUORUM),
    lambda transfer: with_evidence(transfer.sent().network_status(XferStatus.BAD_SLIPPAGE), QUORUM),
    lambda transfer: with_evidence(
        transfer.sent().network_status(XferStatus.BAD_SLIPPAGE), QUORUM
    ).refund_submitted(),
    *[
        lambda transfer: (
            with_evidence(transfer.sent().network_status(XferStatus.BAD_SLIPPAGE), QUORUM)
            .refund_submitted()
            .refund_completed()
        )
    ]
    * 8,
)
"""Every kind of transfer without a release; a refund is the most common."""


class SyntheticTransfer(NamedTuple):
    """One transfer: which, when (microseconds since 1970), and how long until its release."""

    digest: str
    """32 bytes in hex: the source of everything that looks random, and the transfer's id."""
    route: int
    """Index into ``SERIES``."""
    start: int
    latency: int
    usual: bool

    @property
    def draw(self) -> int:
        """A pseudo-random number from 0 to 2^32-1, from the digest."""
        return int(self.digest[16:24], 16)


@dataclass(frozen=True)
class SyntheticTransfers:
    """``count`` transfers, the last of which end at ``until``."""

    count: int
    until: datetime
    days: float = 7
    pair_share: float = 0.2
    """Of the first pair of chains; the others share the rest equally."""

    @cached_property
    def _first(self) -> int:
        return unix_microseconds(self.until - timedelta(days=self.days))

    @cached_property
    def _span(self) -> int:
        return (timedelta(days=self.days) - _LONGEST_TRANSFER) // MICROSECOND

    def __iter__(self) -> Iterator[SyntheticTransfer]:
        medians = [series.median // MICROSECOND for series in SERIES]
        limit, others = int(self.pair_share * 2**32), len(SERIES) - 1
        for n in range(self.count):
            digest = digest_of(n)
            draw, pick, slow = int(digest[:8], 16), int(digest[8:16], 16), int(digest[16:24], 16)
            route = 0 if draw < limit else 1 + draw % others
            latency = medians[route] // 2 + pick % medians[route]
            if slow % _SLOW_IN == 0:
                latency *= 4
            start = self._first + n * self._span // self.count
            yield SyntheticTransfer(digest, route, start, latency, pick % UNUSUAL_IN > 0)


def digest_of(number: int) -> str:
    """The id of a transfer, 32 bytes in hex without 0x."""
    return sha256(b"grown transfer %d" % number).hexdigest()


def send_of(transfer: SyntheticTransfer) -> SendDetails:
    """What its user sends: little enough that no pool runs dry over many millions of transfers."""
    typical = SERIES[transfer.route].typical
    unit = 10 ** max(0, decimals_of(typical.src_chain_id, typical.symbol) - 6)
    return replace(typical, amount=unit * (1 + transfer.draw % 99), sender=user(transfer.draw % _USERS))


def events_of(transfer: SyntheticTransfer) -> Sequence[Event]:
    """The events that reporters would have sent about it."""
    start = from_unix_microseconds(transfer.start)
    events = TransferBuilder(
        f"0x{transfer.digest}",
        send_of(transfer),
        start,
        src_tx_hash=f"0x{transfer.digest[::-1]}",
        dst_tx_hash=f"0x{transfer.digest[32:]}{transfer.digest[:32]}",
    )
    if transfer.usual:
        return events.sent().released(transfer.latency * MICROSECOND, with_amount=False).events
    return _UNUSUAL[transfer.draw % len(_UNUSUAL)](events).events


@dataclass(frozen=True, slots=True)
class SyntheticRoute:
    """What completed transfers of one series have in common, as text for a row."""

    kind: str
    src_chain_id: str
    dst_chain_id: str
    symbol: str
    src_height: int
    src_period: int
    dst_height: int
    dst_period: int
    """A chain's block at a time is ``height + time // period`` (microseconds since 1970)."""
    unit: int
    src_decimals: int
    dst_decimals: int

    @property
    def is_pool(self) -> bool:
        """Whether pools and their volumes count it."""
        return self.kind == SendKind.POOL.value


def synthetic_routes() -> list[SyntheticRoute]:
    return [_synthetic_route(series.typical) for series in SERIES]


def _synthetic_route(details: SendDetails) -> SyntheticRoute:
    decimals = [decimals_of(chain, details.symbol) for chain in (details.src_chain_id, details.dst_chain_id)]
    (src_height, src_period), (dst_height, dst_period) = map(
        _mining, (details.src_chain_id, details.dst_chain_id)
    )
    return SyntheticRoute(
        details.kind.value,
        str(details.src_chain_id),
        str(details.dst_chain_id),
        details.symbol,
        src_height,
        src_period,
        dst_height,
        dst_period,
        10 ** max(0, decimals[0] - 6),
        *decimals,
    )


def _mining(chain_id: int) -> tuple[int, int]:
    """Height at 1970, as if it had mined since, and period in microseconds.

    Whole periods lie between 1970 and the genesis of every chain of ``SERIES``.
    """
    return block_at(chain_id, UNIX_EPOCH).number, PACES[chain_id].period // MICROSECOND


def senders() -> list[str]:
    """The users' addresses, as they are stored."""
    return [checksum_address(user(n)) for n in range(_USERS)]
