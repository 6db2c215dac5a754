"""Figures about the latencies between two chains (docs/interface.md#latency-stats)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from app.domain.codes import Reason
from app.domain.errors import GatewayError
from app.domain.keys import ChainId, PoolKey
from app.domain.transfer.latency import WINDOW, median_seconds, window
from app.queries.latency import LatencyOrder, Pair, counted_since, latency_order, latency_order_of_token
from app.queries.transfers.trends import last_event
from app.runtime.gateway import Gateway
from app.services.latency import two_chains

_WHOLE: Final = WINDOW // timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class _Found:
    """What is kept: the length of the window in seconds, and the figures; None where no transfer counts."""

    as_of: datetime | None
    seconds: int
    order: LatencyOrder | None


_NOTHING: Final = _Found(None, _WHOLE, None)


@dataclass(frozen=True, slots=True)
class LatencyStats:
    """Of ``count`` transfers that were released in the last ``window_seconds``; latencies in seconds.

    ``as_of``: when the newest fact was taken in that they can rest on; None before the first.
    """

    count: int
    window_seconds: int
    median: float
    p90: float
    p99: float
    as_of: datetime | None


def latency_stats(
    gateway: Gateway, src_chain_id: ChainId, dst_chain_id: ChainId, symbol: str | None
) -> LatencyStats:
    """The exact figures, of all tokens or of one. They are kept for a moment, and so is that there are none.

    Of one token the window is shorter where more than ``of_token.MOST`` transfers of any token were released
    between the two chains in 7 days.

    :raises GatewayError: for equal or unknown chains, and when no transfer counts.
    :raises Unavailable: the configuration cannot be read.
    """
    src, dst = two_chains(gateway, src_chain_id, dst_chain_id)
    pair, found = (src_chain_id, dst_chain_id), _NOTHING
    # A token that is not configured has no transfers, and strangers could think of any number of them.
    if symbol is None or PoolKey(src_chain_id, symbol) in gateway.snapshots.current().terms.tokens:
        found = _kept(gateway, pair, symbol)
    if found.order is None:
        what = "transfer" if symbol is None else "transfer of this token"
        raise GatewayError(
            f"no {what} from {src.name} to {dst.name} was released in the last {_in_words(found.seconds)}",
            reason=Reason.NO_LATENCY_DATA,
        )
    return LatencyStats(
        count=found.order.count,
        window_seconds=found.seconds,
        median=median_seconds(found.order.middle),
        p90=median_seconds([found.order.p90]),
        p99=median_seconds([found.order.p99]),
        as_of=found.as_of,
    )


def _kept(gateway: Gateway, pair: Pair, symbol: str | None) -> _Found:
    """All of one moment; ``as_of`` too, so that it is never newer than the figures."""
    found, _ = gateway.kept_reads.ask(
        (_read, pair, symbol),
        lambda: gateway.public_reads.ask_consistently(_read, pair, symbol, gateway.clock()),
    )
    return found


def _read(connection: Connection, pair: Pair, symbol: str | None, now: datetime) -> _Found:
    newest, (after, until) = last_event(connection), window(now)
    as_of = None if newest is None else newest.received_at
    if symbol is None:
        return _Found(as_of, _WHOLE, latency_order(connection, *pair, after, until))
    after = counted_since(connection, pair, after, until)
    order = latency_order_of_token(connection, pair, symbol, after, until)
    return _Found(as_of, (until - after) // timedelta(seconds=1), order)


def _in_words(seconds: int) -> str:
    return "7 days" if seconds == _WHOLE else f"{seconds} seconds"
