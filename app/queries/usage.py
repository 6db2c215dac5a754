"""What transfers do with chains, tokens and accounts: counted for operators, within bounds."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, func, or_, select

from app.domain.codes import RESTING_STATUSES, TransferHistoryStatus
from app.domain.keys import ChainId, RouteKey
from app.extensions import Base
from app.models.blocked import BlockedAddress
from app.models.transfers import Transfer

COUNT_LIMIT: Final = 10_000
"""Counting ends here: more than that is "over 10,000" to people, and costs the database little."""

UNDER_WAY: Final = tuple(status.value for status in TransferHistoryStatus if status not in RESTING_STATUSES)


def row_by_id(connection: Connection, model: type[Base], row_id: int) -> dict[str, Any] | None:
    """One row of a network table by column name."""
    table = model.__table__
    row = connection.execute(select(table).where(table.c.id == row_id)).mappings().one_or_none()
    return None if row is None else dict(row)


def rows_with(
    connection: Connection, model: type[Base], column: str, values: Collection[Any]
) -> list[dict[str, Any]]:
    """The rows whose column has one of the values, at most some hundreds; accounts without regard to case."""
    table = model.__table__
    is_one: ColumnElement[bool] = table.c[column].in_(values)
    if table is BlockedAddress.__table__:
        # EVM addresses have one spelling, and an index; only the others need the slower way.
        others = [value.lower() for value in values if not (len(value) == 42 and value.startswith("0x"))]
        is_one = or_(is_one, func.lower(table.c[column]).in_(others)) if others else is_one
    return [dict(row) for row in connection.execute(select(table).where(is_one)).mappings()]


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


def some_transfers(connection: Connection, which: ColumnElement[bool], limit: int) -> list[bytes]:
    """The ids of some of the transfers."""
    return list(connection.scalars(select(Transfer.transfer_id).where(which).limit(limit)))


def sent_since(
    connection: Connection, since: datetime, route_keys: Collection[RouteKey]
) -> dict[RouteKey, int]:
    """How many transfers were sent on each of the ways since then; ways without any are left out."""
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


def parties_since(
    connection: Connection, since: datetime, places: Collection[tuple[int, str]]
) -> Iterator[tuple[str | None, str | None]]:
    """Sender and receiver of each transfer sent since then.

    :param places: chain and symbol of every token there is: by them the index finds the recent ones.
    """
    yield from connection.execute(
        select(Transfer.sender, Transfer.receiver).where(
            Transfer.src_chain_id.in_({chain_id for chain_id, _ in places}),
            Transfer.symbol.in_({symbol for _, symbol in places}),
            Transfer.sent_at >= since,
        )
    )
