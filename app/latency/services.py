"""How long transfers between two chains take: the median of the operation, and further figures."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection

from app.db.database import Database
from app.latency.queries import (
    LatencyOrder,
    Pair,
    counted_since,
    latency_order,
    latency_order_of_token,
    twice_median,
    twice_median_and_p90,
)
from app.latency.rules.median import WINDOW, median_seconds, seconds, window
from app.network.rules.terms import ChainInfo
from app.network.snapshot import SnapshotSource
from app.transfers.queries.trends import last_event
from app.transfers.rules.progress import UNKNOWN_TIMES, RouteTimes
from app.values.codes import Reason
from app.values.errors import GatewayError
from app.values.identifiers import ChainId, PoolKey


def median_latency(
    database: Database, snapshots: SnapshotSource, src_chain_id: ChainId, dst_chain_id: ChainId
) -> float:
    """The exact median, in seconds, of the transfers released in the last 7 days.

    Disabled chains are answered too. A median is cached for a moment, also that there is none: the 7 days
    then end when it was read.

    :raises GatewayError: for equal or unknown chains, and when no transfer counts.
    :raises Unavailable: the configuration cannot be read.
    """
    src, dst = two_chains(snapshots, src_chain_id, dst_chain_id)
    twice, _ = database.cached.run_read(
        (twice_median, src_chain_id, dst_chain_id),
        lambda: database.public.run_read(twice_median, src_chain_id, dst_chain_id, *window(database.clock())),
    )
    if twice is None:
        raise GatewayError(
            f"no transfer from {src.name} to {dst.name} was released in the last 7 days",
            reason=Reason.NO_LATENCY_DATA,
        )
    return median_seconds(twice)


def two_chains(
    snapshots: SnapshotSource, src_chain_id: ChainId, dst_chain_id: ChainId
) -> tuple[ChainInfo, ChainInfo]:
    """Find the two chains of a request for latencies.

    :raises GatewayError: they are the same, or one is not known.
    :raises Unavailable: the configuration cannot be read.
    """
    if src_chain_id == dst_chain_id:
        raise GatewayError(
            f"source and destination are the same chain ({src_chain_id}): choose two different chains",
            reason=Reason.SAME_CHAIN,
        )
    chains = snapshots.current().terms.chain_infos
    return _known(chains, src_chain_id), _known(chains, dst_chain_id)


def times_between(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, now: datetime
) -> RouteTimes:
    """The times of the last 7 days; ``UNKNOWN_TIMES`` without any transfer."""
    found = twice_median_and_p90(connection, src_chain_id, dst_chain_id, *window(now))
    if found is None:
        return UNKNOWN_TIMES
    twice, p90 = found
    return RouteTimes(median_seconds(twice), seconds(p90))


def _known(chains: Mapping[ChainId, ChainInfo], chain_id: ChainId) -> ChainInfo:
    chain = chains.get(chain_id)
    if chain is None:
        raise GatewayError(
            f"chain {chain_id} is unknown: choose one of the chains in /v2/getTransferConfigs",
            reason=Reason.CHAIN_UNKNOWN,
        )
    return chain


_WHOLE: Final = WINDOW // timedelta(seconds=1)


class _Found(Struct, frozen=True):
    """What is cached: the length of the window in seconds, and the figures; None where no transfer counts."""

    as_of: datetime | None
    seconds: int
    order: LatencyOrder | None


_NOTHING: Final = _Found(None, _WHOLE, None)


class LatencyStats(Struct, frozen=True):
    """Figures of ``count`` transfers that were released in the last ``window_seconds``; latencies in seconds.

    ``as_of``: when the newest fact was received that they can depend on; None before the first.
    """

    count: int
    window_seconds: int
    median: float
    p90: float
    p99: float
    as_of: datetime | None


def latency_stats(
    database: Database,
    snapshots: SnapshotSource,
    src_chain_id: ChainId,
    dst_chain_id: ChainId,
    symbol: str | None,
) -> LatencyStats:
    """The exact figures, of all tokens or of one. They are cached for a moment, also that there are none.

    For one token the window is shorter where more than ``queries.MOST`` transfers of any token were released
    between the two chains in 7 days.

    :raises GatewayError: for equal or unknown chains, and when no transfer counts.
    :raises Unavailable: the configuration cannot be read.
    """
    src, dst = two_chains(snapshots, src_chain_id, dst_chain_id)
    pair, found = (src_chain_id, dst_chain_id), _NOTHING
    # A token that is not configured has no transfers, and callers could name any number of such tokens.
    if symbol is None or PoolKey(src_chain_id, symbol) in snapshots.current().terms.tokens:
        found = _cached(database, pair, symbol)
    if found.order is None:
        what = "transfer" if symbol is None else "transfer of this token"
        raise GatewayError(
            f"no {what} from {src.name} to {dst.name} was released in the last {_in_words(found.seconds)}",
            reason=Reason.NO_LATENCY_DATA,
        )
    return LatencyStats(
        count=found.order.count,
        window_seconds=found.seconds,
        median=median_seconds(found.order.twice_median),
        p90=seconds(found.order.p90),
        p99=seconds(found.order.p99),
        as_of=found.as_of,
    )


def _cached(database: Database, pair: Pair, symbol: str | None) -> _Found:
    """All of one snapshot; ``as_of`` too, so that it is never newer than the figures."""
    found, _ = database.cached.run_read(
        (_read, pair, symbol),
        lambda: database.public.run_reads(_read, pair, symbol, database.clock()),
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
