"""How many transfers, and which, have to do with a chain, a token, a route or an account?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, func, or_, select, tuple_

from app.domain.codes import RESTING_STATUSES, TransferHistoryStatus
from app.domain.keys import ChainId, RouteKey
from app.models.transfers import Transfer

COUNT_LIMIT: Final = 10_000
"""Counting ends here, which keeps it cheap. The console shows more as "over 10,000"."""

UNDER_WAY: Final = tuple(status.value for status in TransferHistoryStatus if status not in RESTING_STATUSES)


def of_chain(chain_id: ChainId) -> ColumnElement[bool]:
    """Transfers from the chain or to it."""
    return or_(Transfer.src_chain_id == chain_id, Transfer.dst_chain_id == chain_id)


def of_token(chain_id: ChainId, symbol: str) -> ColumnElement[bool]:
    """Transfers of the token from the chain or to it."""
    return of_chain(chain_id) & (Transfer.symbol == symbol)


def count_transfers(connection: Connection, which: ColumnElement[bool], *, under_way: bool = False) -> int:
    """How many transfers there are, up to ``COUNT_LIMIT`` + 1; ``under_way``: only those not finished."""
    query = select(Transfer.transfer_id).where(which)
    if under_way:
        query = query.where(Transfer.status.in_(UNDER_WAY))
    bounded = query.limit(COUNT_LIMIT + 1).subquery()
    return connection.scalar(select(func.count()).select_from(bounded)) or 0


def transfers_of_tokens(connection: Connection, tokens: Collection[tuple[int, str]]) -> Sequence[bytes]:
    """The ids of the transfers of any of the tokens, each given by chain id and symbol, on either side."""
    of_tokens = or_(
        tuple_(Transfer.src_chain_id, Transfer.symbol).in_(tokens),
        tuple_(Transfer.dst_chain_id, Transfer.symbol).in_(tokens),
    )
    return connection.scalars(select(Transfer.transfer_id).where(of_tokens)).all()


def transfers_naming_contracts(
    connection: Connection,
    src_chain_ids: Collection[ChainId],
    symbol: str | None,
    contracts: Collection[str] | None,
) -> Sequence[bytes]:
    """The ids of transfers from these chains whose send names one of the contracts.

    :param symbol: None for every token.
    :param contracts: None for any contract that a send names.
    """
    named = Transfer.contract.is_not(None) if contracts is None else Transfer.contract.in_(contracts)
    query = select(Transfer.transfer_id).where(Transfer.src_chain_id.in_(src_chain_ids), named)
    if symbol is not None:
        query = query.where(Transfer.symbol == symbol)
    return connection.scalars(query).all()


def some_transfers(connection: Connection, which: ColumnElement[bool], limit: int) -> list[bytes]:
    """The ids of some of the transfers."""
    return list(connection.scalars(select(Transfer.transfer_id).where(which).limit(limit)))


def sent_since(
    connection: Connection, since: datetime, route_keys: Collection[RouteKey]
) -> dict[RouteKey, int]:
    """How many transfers were sent on each of the routes since then; routes without any are omitted."""
    if not route_keys:
        return {}
    counts = connection.execute(
        select(Transfer.symbol, Transfer.src_chain_id, Transfer.dst_chain_id, func.count())
        .where(
            Transfer.src_chain_id.in_({src for _, src, _ in route_keys}),
            Transfer.symbol.in_({symbol for symbol, _, _ in route_keys}),
            Transfer.sent_at >= since,
        )
        .group_by(Transfer.symbol, Transfer.src_chain_id, Transfer.dst_chain_id)
    )
    found = {(symbol, src, dst): count for symbol, src, dst, count in counts}
    return {route_key: found[route_key] for route_key in route_keys if route_key in found}


def latest_sent(
    connection: Connection, since: datetime, route_keys: Collection[RouteKey], limit: int
) -> list[bytes]:
    """The ids of the last transfers that were sent on any of the routes since then, the newest first."""
    found: list[tuple[datetime, bytes]] = []
    for symbol, src, dst in route_keys:
        of_route = (
            Transfer.src_chain_id == src,
            Transfer.symbol == symbol,
            Transfer.dst_chain_id == dst,
            Transfer.sent_at >= since,
        )
        newest = (Transfer.sent_at.desc(), Transfer.transfer_id)
        query = select(Transfer.sent_at, Transfer.transfer_id).where(*of_route).order_by(*newest)
        found += [(at, each) for at, each in connection.execute(query.limit(limit)) if at is not None]
    return [each for _, each in sorted(found, reverse=True)[:limit]]


class Parties(NamedTuple):
    """Who sends and who receives a transfer."""

    transfer_id: bytes
    sent_at: datetime
    sender: str | None
    receiver: str | None


def parties_since(
    connection: Connection, since: datetime, tokens: Collection[tuple[int, str]]
) -> Iterator[Parties]:
    """The parties of each transfer sent since then.

    :param tokens: chain id and symbol of every configured token; the index needs them to find recent sends.
    """
    rows = connection.execute(
        select(Transfer.transfer_id, Transfer.sent_at, Transfer.sender, Transfer.receiver).where(
            Transfer.src_chain_id.in_({chain_id for chain_id, _ in tokens}),
            Transfer.symbol.in_({symbol for _, symbol in tokens}),
            Transfer.sent_at >= since,
        )
    )
    yield from map(Parties._make, rows)
