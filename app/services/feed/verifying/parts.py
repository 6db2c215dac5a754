"""All that is projected, in parts, those first that others rest on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, Final, TypeVar

from app.db.engine import reading
from app.domain.keys import TransferId
from app.domain.transfer.effects import AccountEntry
from app.queries.verifying import (
    days_of_courses,
    every_chain,
    every_chain_read,
    every_pool,
    every_route,
    next_entries,
    next_transfers,
)
from app.runtime.gateway import Gateway
from app.services.feed.verifying import chains, sums
from app.services.feed.verifying.accounts import compare_entries, remove_entries
from app.services.feed.verifying.differences import Part
from app.services.feed.verifying.transfers import compare_transfers, repair_transfers

TRANSFERS: Final = 200
"""Of a part. To write them anew takes less than a tenth of a second of the writers' turn."""

ENTRIES: Final = 1_000
"""Entries of accounts in a part."""

ROUTES: Final = 100
"""Routes in a part."""

COURSES: Final = 200_000
"""Rows of courses in a part, about: they are held in memory."""

T = TypeVar("T")


def every_part(gateway: Gateway) -> Iterator[Part]:
    """The parts of all that is projected. What there is of each kind is looked up when its turn has come."""
    yield Part(chains.compare_retractions, chains.repair_retractions)
    for chain_id in _ask(gateway, every_chain):
        yield Part(
            partial(chains.compare_chain, chain_id=chain_id), partial(chains.repair_chain, chain_id=chain_id)
        )
    routes = _ask(gateway, every_route)
    for start in range(0, len(routes), ROUTES):
        some = routes[start : start + ROUTES]
        yield Part(partial(chains.compare_fees, routes=some), chains.repair_fees)
    yield from _of_transfers(gateway)
    yield from _of_accounts(gateway)
    yield from _of_sums(gateway)
    for chain_id in _ask(gateway, every_chain_read):
        yield Part(partial(chains.compare_progress, chain_id=chain_id), chains.repair_progress)


def _of_transfers(gateway: Gateway) -> Iterator[Part]:
    last: TransferId | None = None
    while ids := _ask(gateway, next_transfers, last, TRANSFERS):
        yield Part(partial(compare_transfers, transfer_ids=ids), repair_transfers, len(ids))
        last = ids[-1]


def _of_accounts(gateway: Gateway) -> Iterator[Part]:
    last: AccountEntry | None = None
    while entries := _ask(gateway, next_entries, last, ENTRIES):
        yield Part(partial(compare_entries, entries=entries), remove_entries)
        last = entries[-1]


def _of_sums(gateway: Gateway) -> Iterator[Part]:
    for pool in _ask(gateway, every_pool):
        for compare in (sums.compare_sent, sums.compare_relayed):
            yield Part(partial(compare, pool=pool), sums.repair_pools, by_difference=True)
    days = [None, *_ask(gateway, days_of_courses, COURSES), None]
    for first, end in pairwise(days):
        compare = partial(sums.compare_courses, first=first, end=end)
        yield Part(compare, sums.repair_courses, by_difference=True)
    yield Part(sums.compare_latencies, sums.repair_latencies)
    yield Part(sums.compare_pools_under_zero, sums.repair_pools_under_zero)


def _ask(gateway: Gateway, question: Callable[..., T], *args: Any) -> T:
    with reading(gateway.engine) as connection:
        return question(connection, *args)
