"""Reports of others that blocks do not hold: those that arrive, and those that are to be looked at again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Select, select, update

from app.db.database import Database
from app.db.engine import reading_consistently
from app.db.types import is_one_of
from app.feed.projection.contradicted import forget_contradicted, note_contradicted
from app.transfers.models import ContradictedReport
from app.transfers.queries.logged import newest_seq
from app.transfers.rules.certainty import WATCHER
from app.transfers.rules.events.event_types import Event
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.events.renumbered import is_among
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.queries import new_reports_of_others, proven_ranges, said_of_blocks, waiting_facts
from app.watcher.rules.logs.half_known import half_known
from app.watcher.rules.steps import Contradicted, Step

AT_ONCE: Final = 10_000
"""Acceptances that are looked through at once."""

COMPARED_AT_ONCE: Final = 3
"""Blocks that are read after a poll because of reports that contradict them."""

_table = ContradictedReport


class Arrived(NamedTuple):
    """Reports of proven blocks that arrived.

    :param contradicted: those that nothing else says of their block.
    :param to: the position of the log up to which they were compared.
    """

    contradicted: Sequence[Contradicted]
    to: int


def arrived(database: Database, chain_id: ChainId, after: int | None) -> Arrived:
    """The reports of proven blocks after a position of the log, as far as nothing else says the same.

    What was reported of a block before was compared with it when it was proven.

    :param after: None where nothing was compared so far: this begins with what comes next.
    """
    with reading_consistently(database.engine) as connection:
        spans = proven_ranges(connection, chain_id)
        if after is None or not spans:
            return Arrived((), newest_seq(connection))
        found, to = new_reports_of_others(
            connection, chain_id, spans[-1].last, reporter=WATCHER, after=after, limit=AT_ONCE
        )
        found = [each for each in found if any(span.first <= each.block <= span.last for span in spans)]
        waiting = waiting_facts(connection, chain_id) if found else ()
        unsure = half_known(waiting, {})
        new = {
            each.event.key: each
            for each in found
            if each.canonical and not unsure.holds(each.event, each.block)
        }
        known = set(new)
        if new:
            rows = connection.execute(_of_chain(chain_id))
            known |= {EventKey(row.subject, row.event_id) for row in rows}
        said: dict[BlockNumber, list[Event]] = defaultdict(list)
        blocks = {each.block for each in new.values()}
        for each in said_of_blocks(connection, chain_id, blocks, reporter=WATCHER) if blocks else ():
            if each.canonical and (each.reporter == WATCHER or each.event.key not in known):
                said[each.block].append(each.event)
    wrong = [each for each in new.values() if not is_among(each.event, said[each.block])]
    return Arrived([Contradicted(each.event, each.block, each.reporter) for each in wrong], to)


def to_compare(database: Database, chain_id: ChainId, now: datetime) -> Sequence[BlockNumber]:
    """A few blocks with contradicted reports of which it is time to find out whether they are proven."""
    query = _of_chain(chain_id).where(_table.outranked.is_(False)).order_by(_table.tries, _table.at)
    with reading_consistently(database.engine) as connection:
        rows = connection.execute(query.limit(AT_ONCE)).all()
    due = [row.block for row in rows if (now - row.at).total_seconds() >= _pause(row.tries)]
    return list(dict.fromkeys(due))[:COMPARED_AT_ONCE]


def _pause(tries: int) -> float:  # seconds from one look at a block to the next
    return 0.0 if tries == 0 else min(60.0 * 2.0 ** min(tries, 16), 3600.0)


def _of_chain(chain_id: ChainId) -> Select[*tuple[Any, ...]]:
    return select(_table.__table__).where(_table.chain_id == chain_id)


def store_contradicted(connection: Connection, chain_id: ChainId, step: Step, now: datetime) -> None:
    forget_contradicted(connection, chain_id, step.compared)
    if step.undecided:
        of_blocks = is_one_of(connection, _table.block, step.undecided)
        pending = update(_table).where(_table.chain_id == chain_id, of_blocks, _table.outranked.is_(False))
        connection.execute(pending.values(tries=_table.tries + 1, at=now))
    for each in step.contradicted:
        note_contradicted(
            connection, chain_id, each.event, each.block, each.reporter, now, outranked=each.outranked
        )
