"""Which base fees were reported, and which of them counts now?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import cast

from sqlalchemy import Connection, select, tuple_

from app.domain.keys import ChainId, RouteKey
from app.domain.transfer.event_types import EventType
from app.domain.transfer.events import FeeUpdated
from app.domain.transfer.standing import Logged
from app.domain.transfer.subjects import EventKey
from app.models.events import Event
from app.models.pools import ReportedFee
from app.queries.feed.codec import decode_event
from app.queries.feed.retracted import retracted_keys
from app.queries.feed.standing import IS_NOT_AHEAD


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


def standing_fees(connection: Connection, routes: set[RouteKey] | None = None) -> list[FeeUpdated]:
    """The standing fee events of some routes, or of all."""
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.type, Event.body)
        .where(Event.chain_id.is_(None), Event.type == EventType.FEE_UPDATED.value, IS_NOT_AHEAD)
        .order_by(Event.seq)
    )
    latest: dict[EventKey, Logged[FeeUpdated]] = {}
    for row in rows:
        event = cast("FeeUpdated", decode_event(row.event_id, row.type, row.body))
        if routes is None or event.route_key in routes:
            latest[event.key] = Logged(row.seq, event)
    retracted = retracted_keys(connection, latest)
    return [logged.event for key, logged in latest.items() if logged.seq > retracted.get(key, 0)]
