"""Verifies that all that is stored follows from the log, and repairs what does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from app.db.database import Database
from app.db.engine import reading, reading_consistently, writing
from app.db.models import ProjectedSum, projected_models
from app.feed.models import JournalRow
from app.feed.projection.transfers import publish_nothing
from app.feed.queries.transfers import count_transfers
from app.feed.services.log import refuse_grown
from app.feed.verifying.comparing import Difference, differences, in_batches, journal_differences
from app.feed.verifying.projecting import ProjectedAgain, projected_again
from app.feed.verifying.repairing import repair
from app.feed.verifying.spelling import EVENTS_AT_ONCE, compare_ids, repair_ids
from app.transfers.models import ChainProgress, Transfer
from app.transfers.queries.logged import newest_seq

ROWS_AT_ONCE: Final = 200
"""Rows that are repaired in one transaction: about a tenth of a second of the writers' turn."""

ROUNDS: Final = 5
"""Each projects the log. A further one repairs what changed while the one before was repairing."""


def _in_order() -> list[type[Any]]:
    """What is compared and repaired: rows that others refer to come first, then sums of them. How far chains
    were read is found again from what is right by then.
    """
    models = projected_models()
    sums = [each for each in models if issubclass(each, ProjectedSum)]
    rows = [each for each in models if each not in sums and each is not ChainProgress]
    return [*rows, *sums, ChainProgress, JournalRow]


Found = Callable[[Difference], None]
Progress = Callable[[int], None]


def verify(database: Database, found: Found, progress: Progress = lambda _transfers: None) -> int:
    """Project the log again, and compare all that is stored with it. Returns the number of transfers.

    Everything is read as of one moment, and a fact is committed with all that follows from it. So reports
    during the comparison make no difference.

    :param found: called with each row that differs.
    :param progress: called after each chunk of transfers with their number.
    :raises NoEventLog: the transfers have no events.
    :raises NoSecondSchema: the log cannot be projected again here, or not now.
    """
    with reading(database.engine) as connection:
        refuse_grown(connection)
    for first in _parts_of_log(database):
        with reading_consistently(database.engine) as connection:
            spelled = compare_ids(connection, first)
        for difference in spelled:
            found(difference)
    with projected_again(database, progress) as again:
        count = again.transfers
        for model in _in_order():
            for difference in _differences(again, model):
                count += model is Transfer and difference.expected is None
                found(difference)
    return count


def repair_all(
    database: Database, found: Found, progress: Progress = lambda _transfers: None
) -> tuple[int, bool]:
    """Verify, and repair what differs until nothing does.

    Returns the number of transfers, and whether nothing differed at last: something may change rows again
    and again.

    :param found: called with each row that differed, once it is repaired.
    """
    _repair_ids(database, found)
    transfers, is_right = _repair_once(database, found, progress)
    for _ in range(ROUNDS):
        if is_right:
            break
        transfers, is_right = _repair_once(database, found, lambda _transfers: None)
    return transfers, is_right


def _repair_once(database: Database, found: Found, progress: Progress) -> tuple[int, bool]:
    """As :func:`repair_all`, once."""
    is_right = True
    with projected_again(database, progress) as again:
        for model in _in_order():
            for some in in_batches(_differences(again, model), ROWS_AT_ONCE):
                is_right = False
                with writing(database.engine) as connection:
                    repaired = repair(connection, model, some, database.clock(), seq=again.seq)
                for difference in repaired:
                    found(difference)
    return again.transfers, is_right


def _differences(again: ProjectedAgain, model: type[Any]) -> Iterator[Difference]:
    if model is JournalRow:
        return journal_differences(again.schema)
    return differences(again.schema, model)


def _parts_of_log(database: Database) -> Iterator[int]:
    with reading(database.engine) as connection:
        newest = newest_seq(connection)
    yield from range(0, newest + 1, EVENTS_AT_ONCE)


def _repair_ids(database: Database, found: Found) -> None:
    for first in _parts_of_log(database):
        with reading_consistently(database.engine) as connection:
            spelled = compare_ids(connection, first)
        if spelled:
            with writing(database.engine) as connection:
                publish_nothing(connection, database.clock())
                spelled = compare_ids(connection, first)
                repair_ids(connection, spelled)
        for difference in spelled:
            found(difference)


def about_how_many(database: Database) -> int:
    """The approximate number of transfers that will be compared."""
    with reading(database.reads) as connection:
        return count_transfers(connection)
