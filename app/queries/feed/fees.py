"""Which base fees were reported, and which of them counts now?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, cast

from sqlalchemy import Connection, select, text, tuple_

from app.domain.keys import ChainId, RouteKey
from app.domain.transfer.events import FeeUpdated
from app.domain.transfer.subjects import route_of_subject, subject_of_route
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


def routes_with_fees(connection: Connection) -> set[RouteKey]:
    """The routes that a fee was ever reported of."""
    return set(map(route_of_subject, connection.scalars(select(Event.subject).where(IS_FEE).distinct())))
