"""Reads the outcomes of the transfers of each hour or day, and how recent the newest reports are.

The feed writes a sum for each span and way, so the rows do not grow with the transfers. Every transfer
counts in the span in which it began, so that a rate of success compares the same transfers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, Select, bindparam, case, func, or_, select, true

from app.db.types import RowsOf, exact_sum
from app.transfers.models import ChainProgress, Event, TrendCount
from app.transfers.rules.events.canonical import ChainReading
from app.transfers.rules.sums import TrendKey, Trends
from app.values.codes import SendKind
from app.values.identifiers import ChainId, PoolKey

HOURLY: Final = 1
DAILY: Final = 24
SPANS: Final = (HOURLY, DAILY)
"""Lengths of the spans that are stored, in hours."""

_CHUNK: Final = 500
"""Spans named in one statement."""

_WAY: Final = (TrendCount.kind, TrendCount.src_chain_id, TrendCount.dst_chain_id, TrendCount.symbol)
_COUNTS: Final = (TrendCount.begun, TrendCount.completed, TrendCount.refund, TrendCount.failed)
_AMOUNTS: Final = (TrendCount.sent, TrendCount.paid_for, TrendCount.received)

_TRENDS: Final = RowsOf(
    select(TrendCount.hours, TrendCount.span, *_WAY, *_COUNTS, *_AMOUNTS).where(
        or_(*(TrendCount.hours == hours for hours in SPANS))
    ),
    spans=TrendCount.span,
)


class SpanKey(NamedTuple):
    """The primary key of a ``TrendCount``."""

    hours: int
    span: int
    kind: str
    src_chain_id: ChainId
    dst_chain_id: ChainId
    symbol: str

    @classmethod
    def of(cls, key: TrendKey, hours: int) -> SpanKey:
        """The span of a length that the hour is in."""
        return cls(hours, key.hour // hours, key.kind, key.src_chain_id, key.dst_chain_id, key.symbol)


def load_trends(connection: Connection, keys: Collection[SpanKey]) -> dict[SpanKey, Trends]:
    """The trends of these keys; those without any are left out."""
    found: dict[SpanKey, Trends] = {}
    spans = sorted({key.span for key in keys})  # of both lengths: no number of a day is one of an hour
    for start in range(0, len(spans), _CHUNK):
        rows = _TRENDS(connection, spans=spans[start : start + _CHUNK])
        found |= {SpanKey(*row[:6]): Trends(*row[6:]) for row in rows}
    return {key: found[key] for key in keys if key in found}


def trend_counts(connection: Connection, hours: int, first: int) -> Iterator[tuple[SpanKey, Trends]]:
    """The trends of each span of a length, from a span on, by kind, token and pair of chains: amounts have
    the units of their tokens.
    """
    rows = connection.execute(
        select(TrendCount.hours, TrendCount.span, *_WAY, *_COUNTS, *_AMOUNTS).where(
            TrendCount.hours == hours, TrendCount.span >= first, TrendCount.begun > 0
        )
    )
    for row in rows:
        yield SpanKey(*row[:6]), Trends(*row[6:])


def pool_flows(
    connection: Connection, first_hour: int, chain_id: ChainId | None = None
) -> dict[PoolKey, tuple[int, int]]:
    """The amounts that transfers, once paid out, brought into each pool (of this chain, or of all) and took
    from it, from an hour on. In smallest units of the pool's token; pools without any are left out.
    """
    came = _flow(TrendCount.src_chain_id, TrendCount.paid_for, first_hour, chain_id)
    went = _flow(TrendCount.dst_chain_id, TrendCount.received, first_hour, chain_id)
    into, out = (
        {PoolKey(row[0], row[1]): int(row[2] or 0) for row in connection.execute(flow)}
        for flow in (came, went)
    )
    return {key: (into.get(key, 0), out.get(key, 0)) for key in into.keys() | out.keys()}


def _flow(chain: Any, amount: Any, first_hour: int, chain_id: ChainId | None) -> Select[*tuple[Any, ...]]:
    of_pools = (TrendCount.kind == SendKind.POOL.value) & (true() if chain_id is None else chain == chain_id)
    since = TrendCount.hours == HOURLY, TrendCount.span >= first_hour
    return (
        select(chain, TrendCount.symbol, exact_sum(amount))
        .where(*since, of_pools)
        .group_by(chain, TrendCount.symbol)
    )


_NEWEST = (
    select(
        ChainProgress.chain_id,
        ChainProgress.highest_block,
        ChainProgress.newest_at,
        func.count().over().label("reporting"),
    )
    .order_by(
        case((ChainProgress.chain_id.in_(bindparam("first", expanding=True)), 0), else_=1),
        ChainProgress.newest_at.desc(),
        ChainProgress.chain_id,
    )
    .limit(bindparam("most"))
)

_OF_CHAIN = select(ChainProgress.__table__).where(ChainProgress.chain_id == bindparam("chain_id"))


def newest_events(
    connection: Connection, first: Iterable[ChainId], most: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Chains that have reported, their highest block, the time of their newest accepted event, and how many
    such chains there are. Those of ``first`` come before all others, which any reporter can make up; then the
    most recent.
    """
    return connection.execute(_NEWEST, {"first": list(first), "most": most}).all()


def newest_of_chain(connection: Connection, chain_id: ChainId) -> Row[*tuple[Any, ...]] | None:
    """As :func:`newest_events`, of one chain; None where it has reported nothing."""
    return connection.execute(_OF_CHAIN, {"chain_id": chain_id}).one_or_none()


def chain_progress(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    return connection.execute(select(ChainProgress.__table__)).all()


def progress_of_chain(connection: Connection, chain_id: ChainId) -> ChainReading | None:
    """How far the chain was read; None if nothing was ever reported of it."""
    one = select(ChainProgress.__table__).where(ChainProgress.chain_id == chain_id)
    row = connection.execute(one).one_or_none()
    return None if row is None else ChainReading(row.highest_block, row.newest_at)


def last_event(connection: Connection) -> Row[*tuple[Any, ...]] | None:
    """The newest acceptance of all: its type, reporter and time of receipt."""
    newest = select(Event.type, Event.reporter, Event.received_at).order_by(Event.seq.desc()).limit(1)
    return connection.execute(newest).one_or_none()
