"""From when on are latencies counted, and which of them are older than a moment?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, and_, case, func, literal_column, select

from app.domain.keys import ChainId
from app.domain.transfer.latency import FINE
from app.models.latencies import MIDDLES_ARE_RIGHT, LatencyMiddle, LatencyWindow
from app.models.transfers import LatencyRecord

FineKey = tuple[ChainId, ChainId, int]
"""Source chain, destination chain, fine bucket."""

LatencyKey = tuple[ChainId, ChainId, int]
"""Source chain, destination chain, latency in microseconds."""

_BY_FINE: Final = (
    LatencyRecord.src_chain_id,
    LatencyRecord.dst_chain_id,
    LatencyRecord.latency_us.bitwise_rshift(literal_column(str(FINE))),
)


@dataclass(frozen=True, slots=True)
class CountedWindow:
    """Latencies released after ``since`` are counted; the middles that are kept may be right for them."""

    since: datetime
    middles_are_right: bool


def counted_window(connection: Connection) -> CountedWindow | None:
    """From when on latencies are counted; None where nothing is counted."""
    row = connection.execute(select(LatencyWindow.since, MIDDLES_ARE_RIGHT)).first()
    return None if row is None else CountedWindow(row[0], bool(row[1]))


def released_between(connection: Connection, after: datetime, until: datetime) -> dict[FineKey, int]:
    """How many latencies were released after one moment and up to another, by fine bucket."""
    rows = connection.execute(
        select(*_BY_FINE, func.count())
        .where(LatencyRecord.released_at > after, LatencyRecord.released_at <= until)
        .group_by(*_BY_FINE)
    )
    return {(src, dst, fine): count for src, dst, fine, count in rows}


def released_between_of_middles(
    connection: Connection, after: datetime, until: datetime
) -> dict[LatencyKey, int]:
    """The same by latency, of the pairs whose middle is kept: at most as many for each as it keeps, and two.

    What is under the latencies that are kept comes as one of them, and so does what is over them.
    """
    latency = LatencyRecord.latency_us
    place = case(
        (latency < LatencyMiddle.low, LatencyMiddle.low - literal_column("1")),
        (latency > LatencyMiddle.high, LatencyMiddle.high + literal_column("1")),
        else_=latency,
    ).label("place")
    same_pair = and_(
        LatencyMiddle.src_chain_id == LatencyRecord.src_chain_id,
        LatencyMiddle.dst_chain_id == LatencyRecord.dst_chain_id,
    )
    rows = connection.execute(
        select(LatencyRecord.src_chain_id, LatencyRecord.dst_chain_id, place, func.count())
        .join_from(LatencyRecord, LatencyMiddle, same_pair)
        .where(LatencyRecord.released_at > after, LatencyRecord.released_at <= until)
        .group_by(LatencyRecord.src_chain_id, LatencyRecord.dst_chain_id, place)
    )
    return {(src, dst, latency): count for src, dst, latency, count in rows}
