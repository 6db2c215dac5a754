"""Which base fees were reported, and which of them counts now?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, cast

from sqlalchemy import Connection, Row, select, text, tuple_

from app.domain.keys import ChainId, RouteKey
from app.domain.transfer.events import FeeUpdated
from app.domain.transfer.subjects import route_of_subject, subject_of_route
from app.models.choice import is_one_of
from app.models.events import Event
from app.models.pools import ReportedFee
from app.queries.feed.codec import decode_event
from app.queries.feed.standing import IS_NOT_AHEAD, IS_NOT_RETRACTED

IS_FEE: Final = text("type = 'fee.updated'")  # spelled like the partial index, so that it serves


def counting_fees(connection: Connection, routes: Iterable[RouteKey]) -> dict[RouteKey, tuple[datetime, str]]:
    """Time and id of the event whose fee counts, for those of the routes that have one."""
    route = (ReportedFee.symbol, ReportedFee.src_chain_id, ReportedFee.dst_chain_id)
    rows = connection.execute(
        select(*route, ReportedFee.at, ReportedFee.event_id).where(tuple_(*route).in_(list(routes)))
    )
    return {
        RouteKey(row.symbol, ChainId(row.src_chain_id), ChainId(row.dst_chain_id)): (row.at, row.event_id)
        for row in rows
    }


def latest_fee(connection: Connection, route: RouteKey) -> FeeUpdated | None:
    """The latest standing fee event of a route, however many were ever reported. One index read."""
    counts = (IS_FEE, Event.subject == subject_of_route(route), IS_NOT_AHEAD, IS_NOT_RETRACTED)
    newest = connection.scalar(select(Event.at).where(*counts).order_by(Event.at.desc()).limit(1))
    if newest is None:
        return None
    # The database may sort ids otherwise than the rule does.
    rows = connection.execute(
        select(Event.event_id, Event.type, Event.body).where(*counts, Event.at == newest)
    )
    events = (cast("FeeUpdated", decode_event(row.event_id, row.type, row.body)) for row in rows)
    return max(events, key=lambda event: event.order)


def old_fees(connection: Connection, before: datetime) -> Sequence[int]:
    """Positions in the log of the fees that were reported of times before this one."""
    return connection.scalars(select(Event.seq).where(IS_FEE, Event.at < before)).all()


def outranked_fees(connection: Connection, positions: Collection[int]) -> list[Row[*tuple[Any, ...]]]:
    """Of the fees at these positions the entries that are older than the one that counts for their route."""
    rows = connection.execute(
        select(Event.__table__).where(is_one_of(connection, Event.seq, positions)).order_by(Event.seq)
    ).all()
    routes = {row.subject: route_of_subject(row.subject) for row in rows}
    counting = counting_fees(connection, routes.values()) if routes else {}
    return [row for row in rows if (fee := counting.get(routes[row.subject])) and row.at < fee[0]]


def routes_with_fees(connection: Connection) -> set[RouteKey]:
    """The routes that a fee was ever reported of."""
    return set(map(route_of_subject, connection.scalars(select(Event.subject).where(IS_FEE).distinct())))
