"""Divides the projections into parts: by transfer, account, chain, pool and day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection, Select, func, select, tuple_

from app.estimates.models import PoolCounter, PoolVolume, ReportedFee
from app.feed.models import PrunedChain, TransferBlock
from app.feed.queries.pools import routes_with_fees
from app.network.models import ReportedValidatorSet
from app.refunds.models import WithdrawDone
from app.transfers.models import (
    ChainProgress,
    Event,
    PrunedPool,
    Transfer,
    TransferAccount,
    TrendCount,
)
from app.transfers.queries.trends import DAILY
from app.transfers.rules.sums import AccountEntry
from app.values.codes import SendKind
from app.values.identifiers import ChainId, PoolKey, RouteKey, TransferId

_OF_CHAINS: Final[tuple[Any, ...]] = tuple(
    model.chain_id
    for model in (Event, ChainProgress, PoolCounter, PrunedChain, ReportedValidatorSet, WithdrawDone)
)
_READ_BY_TRANSFERS: Final[tuple[Any, ...]] = (
    TransferBlock.chain_id, Transfer.src_chain_id, Transfer.dst_chain_id,
)  # fmt: skip


def next_transfers(connection: Connection, after: TransferId | None, most: int) -> list[TransferId]:
    """The next ids of transfers that the log or the projection has, ascending."""
    found = []
    for column in (Event.transfer_id, Transfer.transfer_id):
        query = select(column).where(column.is_not(None)).distinct().order_by(column).limit(most)
        if after is not None:
            query = query.where(column > after)
        found.append([TransferId(each) for each in connection.scalars(query) if each is not None])
    return list(islice(dict.fromkeys(merge(*found)), most))


def next_entries(connection: Connection, after: AccountEntry | None, most: int) -> list[AccountEntry]:
    """The next entries of the lists of accounts, in their order."""
    key = [getattr(TransferAccount, name) for name in AccountEntry._fields]
    query = select(*key).order_by(*key).limit(most)
    if after is not None:
        query = query.where(tuple_(*key) > tuple_(*after))
    return [AccountEntry(*row) for row in connection.execute(query)]


def every_chain(connection: Connection) -> list[ChainId]:
    """The chains that an event or a row is about."""
    return _chains(connection, _OF_CHAINS)


def every_chain_read(connection: Connection) -> list[ChainId]:
    """The chains that were read: those, and the chains that only transfers name."""
    return _chains(connection, (*_OF_CHAINS, *_READ_BY_TRANSFERS))


def _chains(connection: Connection, columns: Sequence[Any]) -> list[ChainId]:
    return sorted({chain_id for column in columns for chain_id in _chains_in(connection, column)})


def _chains_in(connection: Connection, column: Any) -> Iterator[ChainId]:
    """Each once, by an index: there are few of them in many rows."""
    query = select(func.min(column))
    found = connection.scalar(query)
    while found is not None:
        yield ChainId(found)
        found = connection.scalar(query.where(column > found))


def every_route(connection: Connection) -> list[RouteKey]:
    """The routes that a fee was ever reported of, or counts."""
    stored = select(ReportedFee.symbol, ReportedFee.src_chain_id, ReportedFee.dst_chain_id)
    return sorted(routes_with_fees(connection) | {RouteKey(*row) for row in connection.execute(stored)})


def every_pool(connection: Connection) -> list[PoolKey]:
    """The pools that transfers or liquidity moved through, or whose counters say so."""
    of_pool = Transfer.kind == SendKind.POOL.value
    found: list[Select[*tuple[Any, ...]]] = [
        select(model.chain_id, model.symbol).distinct() for model in (PoolCounter, PoolVolume, PrunedPool)
    ]
    found += [
        select(chain_id, Transfer.symbol).where(of_pool, chain_id.is_not(None)).distinct()
        for chain_id in (Transfer.src_chain_id, Transfer.dst_chain_id)
    ]
    rows = (row for query in found for row in connection.execute(query))
    return sorted({PoolKey(*row) for row in rows if row[1] is not None})


def days_of_trends(connection: Connection, most: int) -> Sequence[datetime]:
    """Days that divide the trends, with about so many rows between two of them."""
    rows = connection.execute(
        select(TrendCount.span, func.count())
        .where(TrendCount.hours == DAILY)
        .group_by(TrendCount.span)
        .order_by(TrendCount.span)
    )
    bounds, so_far = list[datetime](), 0
    for day, count in rows:
        if so_far and so_far + count * DAILY > most:
            bounds.append(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day))
            so_far = 0
        so_far += count * DAILY
    return bounds
