"""Checks in parts that all projections follow from the log. Parts that others depend on come first.

Sums over many transfers are checked here: pools, volumes by the minute, trends, latencies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any, Final, TypeVar

from msgspec.structs import asdict
from sqlalchemy import Connection, Row, delete, func, insert, or_, select, tuple_, update

from app.db.database import Database
from app.db.engine import reading, reading_consistently
from app.db.types import is_one_of
from app.estimates.models import PoolCounter, PoolVolume
from app.feed.projection.anomalies import under_zero, validate_pools
from app.feed.projection.latencies import counted_after, counted_since, recount
from app.feed.projection.shared import add_to_spans, apply_shared, spans_of
from app.feed.queries.log import acceptances_of
from app.feed.queries.pools import load_pools_now
from app.feed.queries.pruned import pruned_pools
from app.feed.queries.transfers import count_transfers, load_states, states_where, stored_entries
from app.feed.queries.verifying import (
    days_of_trends,
    every_chain,
    every_chain_read,
    every_pool,
    every_route,
    next_entries,
    next_transfers,
)
from app.feed.services.log import refuse_grown
from app.feed.verifying.mismatches import Difference, Part, differences, rows_of
from app.feed.verifying.rows import (
    compare_chain,
    compare_fees,
    compare_progress,
    compare_retractions,
    compare_transfers,
    repair_chain,
    repair_fees,
    repair_progress,
    repair_retractions,
    repair_transfers,
)
from app.latency.models import WIDTHS, LatencyCount
from app.network.models import Pool
from app.network.rules.pools import PoolCounters
from app.refunds.models import SignatureAside
from app.transfers.models import Anomaly, Event, RefundBasis, Transfer, TransferAccount, TrendCount
from app.transfers.queries.logged import newest_seq
from app.transfers.queries.trends import SpanKey, trends_between
from app.transfers.rules.anomalies import AnomalyKind
from app.transfers.rules.events.fields import id_in_one_form
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.sums import AccountEntry, SharedChange, Trends, account_entries
from app.values.codes import SendKind
from app.values.identifiers import ChainId, PoolKey, TransferId

EVENTS_AT_ONCE: Final = 100_000
"""Positions of the log in one part."""

# Nearly all ids are in one form. The database leaves out most of them.
_MAY_BE_SPELLED: Final = Event.event_id.like("%:%:%:%") & or_(
    Event.event_id != func.lower(Event.event_id),
    Event.event_id.not_like("%:0x%:0x%:%"),
    Event.event_id.like("0%"),
    Event.event_id.like("%:%:%:0%"),
)


def compare_ids(connection: Connection, first: int) -> list[Difference]:
    """The entries of a part of the log whose ids are not in their one form."""
    return [
        Difference(Event.__tablename__, {"seq": row.seq}, {"event_id": row.event_id}, {"event_id": spelled})
        for row in _spelled(connection, first)
        if (spelled := id_in_one_form(row.event_id)) != row.event_id
    ]


def _spelled(connection: Connection, first: int) -> Iterator[Row[int, str]]:
    part = Event.seq >= first, Event.seq < first + EVENTS_AT_ONCE
    rows = select(Event.seq, Event.event_id).where(*part, _MAY_BE_SPELLED)
    yield from connection.execute(rows.order_by(Event.seq))


def repair_ids(connection: Connection, found: Collection[Difference], _now: datetime) -> None:
    """Write them in their one form. What follows from the log is compared and repaired later."""
    positions = [each.key["seq"] for each in found]
    wanted = is_one_of(connection, Event.seq, positions)
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.subject, Event.transfer_id).where(wanted)
    )
    for row in rows.all():
        key = EventKey(row.subject, id_in_one_form(row.event_id))
        there = list(acceptances_of(connection, [key]))
        moved = update(Event).where(Event.seq == row.seq)
        connection.execute(moved.values(event_id=key.id, occurrence=-1))
        _number(connection, sorted([row.seq, *(each.seq for each in there)]))
        if row.transfer_id is not None:
            _rename(connection, row.transfer_id, row.event_id, key.id)


def _number(connection: Connection, positions: Collection[int]) -> None:
    """Number the acceptances of one event: a number must not be there twice meanwhile."""
    for sign in (-1, 1):
        for number, seq in enumerate(positions):
            occurrence = number if sign == 1 else -2 - number
            connection.execute(update(Event).where(Event.seq == seq).values(occurrence=occurrence))


def _rename(connection: Connection, transfer_id: bytes, before: str, after: str) -> None:
    """Rename the event in what is stored beside the log under its id."""
    for model in (RefundBasis, SignatureAside):
        of_event = model.transfer_id == transfer_id, model.event_id == before
        rows = [
            row._asdict() | {"event_id": after}
            for row in connection.execute(select(model.__table__).where(*of_event))
        ]
        connection.execute(delete(model).where(*of_event))
        for row in rows:
            same = [
                model.__table__.c[column.name] == row[column.name] for column in model.__table__.primary_key
            ]
            if connection.execute(select(model.__table__).where(*same)).first() is None:
                connection.execute(insert(model), row)


_IS_POOL: Final = Transfer.kind == SendKind.POOL.value


def compare_sent(connection: Connection, pool: PoolKey) -> list[Difference]:
    """The differences of what was sent into a pool, in all and by the minute."""
    of_pool = (Transfer.src_chain_id == pool.chain_id, Transfer.symbol == pool.symbol)
    change = SharedChange()
    for state in states_where(connection, _IS_POOL, *of_pool):
        change.add(state)
    sent = change.counters[pool].sent + pruned_pools(connection).get(pool, (0, 0))[0]
    stored = select(PoolVolume.__table__).where(
        PoolVolume.chain_id == pool.chain_id, PoolVolume.symbol == pool.symbol, PoolVolume.amount != 0
    )
    expected = [
        {"chain_id": key[0], "symbol": key[1], "minute": key[2], "amount": amount}
        for key, amount in change.volumes.items()
        if amount
    ]
    return [
        *_counter(connection, pool, "sent", sent),
        *differences(PoolVolume, rows_of(connection, stored), expected),
    ]


def compare_relayed(connection: Connection, pool: PoolKey) -> list[Difference]:
    """The differences of what was paid out of a pool."""
    of_pool = (Transfer.dst_chain_id == pool.chain_id, Transfer.symbol == pool.symbol)
    change = SharedChange()
    for state in states_where(connection, _IS_POOL, *of_pool, Transfer.relayed_amount.is_not(None)):
        change.add(state)
    relayed = change.counters[pool].relayed + pruned_pools(connection).get(pool, (0, 0))[1]
    return _counter(connection, pool, "relayed", relayed)


def _counter(connection: Connection, pool: PoolKey, name: str, expected: int) -> list[Difference]:
    column = getattr(PoolCounter, name)
    of_pool = (PoolCounter.chain_id == pool.chain_id, PoolCounter.symbol == pool.symbol)
    stored = connection.scalar(select(column).where(*of_pool)) or 0
    rows = ([{**pool._asdict(), name: value}] for value in (stored, expected))
    return list(differences(PoolCounter, *rows))


def repair_pools(connection: Connection, found: Iterable[Difference], now: datetime) -> None:
    """Add what is missing in counters and volumes."""
    change = SharedChange()
    for each in found:
        pool = PoolKey(each.key["chain_id"], each.key["symbol"])
        if each.table == PoolVolume.__tablename__:
            change.volumes[pool.chain_id, pool.symbol, each.key["minute"]] += each.more("amount")
        else:
            change.counters[pool] += PoolCounters(sent=each.more("sent"), relayed=each.more("relayed"))
    apply_shared(connection, change, now)


def compare_trends(connection: Connection, first: datetime | None, end: datetime | None) -> list[Difference]:
    """The trends of the transfers that began from one day on, before another one. None: no bound."""
    change = SharedChange()
    bounds = [] if first is None else [Transfer.began_at >= first]
    bounds += [] if end is None else [Transfer.began_at < end]
    for state in states_where(connection, Transfer.began_at.is_not(None), *bounds):
        change.add(state)
    stored, expected = (
        [{**span._asdict(), **asdict(trends)} for span, trends in found.items() if trends]
        for found in (trends_between(connection, first, end), spans_of(change.courses))
    )
    return list(differences(TrendCount, stored, expected))


def repair_trends(connection: Connection, found: Iterable[Difference], _now: datetime) -> None:
    """Add what is missing in them."""
    names = tuple(asdict(Trends()))
    add_to_spans(
        connection,
        {SpanKey(**each.key): Trends(**{name: each.more(name) for name in names}) for each in found},
    )


def compare_latencies(connection: Connection) -> list[Difference]:
    """The counts of latencies by bucket."""
    since = counted_since(connection)
    if since is None:
        return []  # nothing is counted until the next event: medians are found from the records
    stored = rows_of(connection, select(LatencyCount.__table__).where(LatencyCount.n != 0))
    names = [column.name for column in LatencyCount.__table__.columns]
    expected = [
        dict(zip(names, row, strict=True))
        for width in WIDTHS
        for row in connection.execute(counted_after(since, width))
    ]
    return list(differences(LatencyCount, stored, expected))


def repair_latencies(connection: Connection, _found: Iterable[Difference], now: datetime) -> None:
    """Count again."""
    recount(connection, now)


def compare_pools_under_zero(connection: Connection) -> list[Difference]:
    """The anomalies of pools under zero. The time they were raised is not compared."""
    pools = {PoolKey(*row) for row in connection.execute(select(Pool.chain_id, Pool.symbol))}
    kind = AnomalyKind.POOL_UNDER_ZERO.value
    stored = rows_of(connection, select(Anomaly.__table__).where(Anomaly.kind == kind))
    expected = [
        {"subject": f"pool:{pool.chain_id}:{pool.symbol}", "kind": kind, "detail": under}
        for pool, counters in load_pools_now(connection, pools).items()
        if (under := under_zero(counters))
    ]
    return list(differences(Anomaly, stored, expected, key=("subject", "kind")))


def repair_pools_under_zero(connection: Connection, found: Iterable[Difference], now: datetime) -> None:
    """Validate them again."""
    subjects: Sequence[list[str]] = [each.key["subject"].split(":", 2) for each in found]
    validate_pools(connection, [PoolKey(ChainId(int(chain)), symbol) for _, chain, symbol in subjects], now)


_KEY = tuple_(*(getattr(TransferAccount, name) for name in AccountEntry._fields))


def compare_entries(connection: Connection, entries: Sequence[AccountEntry]) -> list[Difference]:
    """The stored entries that follow from no transfer. Missing ones are found by transfer."""
    there = stored_entries(connection, entries)
    states = load_states(connection, {entry.transfer_id for entry in there})
    right = account_entries(states.values())
    stored, expected = (
        [entry._asdict() for entry in sorted(some)] for some in (there, there.intersection(right))
    )
    return list(differences(TransferAccount, stored, expected))


def remove_entries(connection: Connection, found: Iterable[Difference], _now: datetime) -> None:
    """Remove them."""
    keys = [tuple(each.key[name] for name in AccountEntry._fields) for each in found]
    connection.execute(delete(TransferAccount).where(_KEY.in_(keys)))


TRANSFERS: Final = 200
"""Of a part. To write them again takes less than a tenth of a second of the writers' turn."""

ENTRIES: Final = 1_000
"""Entries of accounts in a part."""

ROUTES: Final = 100
"""Routes in a part."""

COURSES: Final = 200_000
"""Rows of trends in a part, approximately. They are held in memory."""

T = TypeVar("T")


def every_part(database: Database) -> Iterator[Part]:
    """The parts of all projections. The rows of each kind are only looked up at its turn."""
    for first in range(0, _read(database, newest_seq) + 1, EVENTS_AT_ONCE):
        yield Part(partial(compare_ids, first=first), repair_ids)
    yield Part(compare_retractions, repair_retractions)
    for chain_id in _read(database, every_chain):
        yield Part(partial(compare_chain, chain_id=chain_id), partial(repair_chain, chain_id=chain_id))
    routes = _read(database, every_route)
    for start in range(0, len(routes), ROUTES):
        some = routes[start : start + ROUTES]
        yield Part(partial(compare_fees, routes=some), repair_fees)
    yield from _of_transfers(database)
    yield from _of_accounts(database)
    yield from _of_sums(database)
    for chain_id in _read(database, every_chain_read):
        yield Part(partial(compare_progress, chain_id=chain_id), repair_progress)


def _of_transfers(database: Database) -> Iterator[Part]:
    last: TransferId | None = None
    while ids := _read(database, next_transfers, last, TRANSFERS):
        yield Part(partial(compare_transfers, transfer_ids=ids), repair_transfers, len(ids))
        last = ids[-1]


def _of_accounts(database: Database) -> Iterator[Part]:
    last: AccountEntry | None = None
    while entries := _read(database, next_entries, last, ENTRIES):
        yield Part(partial(compare_entries, entries=entries), remove_entries)
        last = entries[-1]


def _of_sums(database: Database) -> Iterator[Part]:
    for pool in _read(database, every_pool):
        for compare in (compare_sent, compare_relayed):
            yield Part(partial(compare, pool=pool), repair_pools, by_difference=True)
    days = [None, *_read(database, days_of_trends, COURSES), None]
    for first, end in pairwise(days):
        compare = partial(compare_trends, first=first, end=end)
        yield Part(compare, repair_trends, by_difference=True)
    yield Part(compare_latencies, repair_latencies)
    yield Part(compare_pools_under_zero, repair_pools_under_zero)


def _read(database: Database, query: Callable[..., T], *args: Any) -> T:
    with reading(database.engine) as connection:
        return query(connection, *args)


def verify(
    database: Database,
    found: Callable[[Difference], None],
    progress: Callable[[int], None] = lambda _transfers: None,
) -> int:
    """Compare every projection with the log, part by part. Returns the number of transfers.

    Each part is read as of one moment, and a fact is committed with all that follows from it. So reports
    during the comparison make no difference.

    :param found: called with each row that differs.
    :param progress: called after each chunk of transfers with their number.
    :raises NoEventLog: the transfers have no events.
    """
    with reading(database.engine) as connection:
        refuse_grown(connection)
    count = 0
    for part in every_part(database):
        with reading_consistently(database.engine) as connection:
            differences = part.compare(connection)
        for difference in differences:
            found(difference)
        if part.transfers:
            count += part.transfers
            progress(part.transfers)
    return count


def about_how_many(database: Database) -> int:
    """The approximate number of transfers that will be compared."""
    with reading(database.reads) as connection:
        return count_transfers(connection)
