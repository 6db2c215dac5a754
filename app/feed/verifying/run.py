"""Checks in parts that all projections follow from the log. Parts that others depend on come first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, delete, tuple_

from app.db.database import Database
from app.db.engine import reading, reading_consistently
from app.feed.queries.transfers import count_transfers, load_states, stored_entries
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
from app.feed.verifying import chains, sums
from app.feed.verifying.mismatches import Difference, Part, differences
from app.feed.verifying.transfers import compare_transfers, repair_transfers
from app.transfers.effects import AccountEntry, account_entries
from app.transfers.models import TransferAccount
from app.values.identifiers import TransferId

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
    yield Part(chains.compare_retractions, chains.repair_retractions)
    for chain_id in _ask(database, every_chain):
        yield Part(
            partial(chains.compare_chain, chain_id=chain_id), partial(chains.repair_chain, chain_id=chain_id)
        )
    routes = _ask(database, every_route)
    for start in range(0, len(routes), ROUTES):
        some = routes[start : start + ROUTES]
        yield Part(partial(chains.compare_fees, routes=some), chains.repair_fees)
    yield from _of_transfers(database)
    yield from _of_accounts(database)
    yield from _of_sums(database)
    for chain_id in _ask(database, every_chain_read):
        yield Part(partial(chains.compare_progress, chain_id=chain_id), chains.repair_progress)


def _of_transfers(database: Database) -> Iterator[Part]:
    last: TransferId | None = None
    while ids := _ask(database, next_transfers, last, TRANSFERS):
        yield Part(partial(compare_transfers, transfer_ids=ids), repair_transfers, len(ids))
        last = ids[-1]


def _of_accounts(database: Database) -> Iterator[Part]:
    last: AccountEntry | None = None
    while entries := _ask(database, next_entries, last, ENTRIES):
        yield Part(partial(compare_entries, entries=entries), remove_entries)
        last = entries[-1]


def _of_sums(database: Database) -> Iterator[Part]:
    for pool in _ask(database, every_pool):
        for compare in (sums.compare_sent, sums.compare_relayed):
            yield Part(partial(compare, pool=pool), sums.repair_pools, by_difference=True)
    days = [None, *_ask(database, days_of_trends, COURSES), None]
    for first, end in pairwise(days):
        compare = partial(sums.compare_trends, first=first, end=end)
        yield Part(compare, sums.repair_trends, by_difference=True)
    yield Part(sums.compare_latencies, sums.repair_latencies)
    yield Part(sums.compare_pools_under_zero, sums.repair_pools_under_zero)


def _ask(database: Database, question: Callable[..., T], *args: Any) -> T:
    with reading(database.engine) as connection:
        return question(connection, *args)


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
