"""Transfers that have been in their state for too long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, or_

from app.console.latency import Medians, medians_of_the_week
from app.console.transfers.components import Count, TransferLine, transfer_line
from app.console.transfers.lists import PAGE, read_cursor, write_cursor
from app.db.database import Database
from app.db.engine import reading
from app.network.rules.terms import NetworkTerms
from app.network.snapshot import SnapshotSource
from app.transfers.models import Transfer
from app.transfers.queries.lists import ListedTransfer, TransferFilters
from app.transfers.queries.status import Cursor, acknowledgements_of, oldest_in_state
from app.transfers.rules.stuck import STATUSES, TIMES_THE_MEDIAN, MustAct, Thresholds
from app.transfers.services import notes
from app.values.identifiers import ChainId

_LONGER: Final = (
    f"In the same state for more than {TIMES_THE_MEDIAN} times the median transfer time of the two chains in "
    "the last 7 days, or for more than 1 hour if they had no payouts. "
)


RULES: Final[Mapping[MustAct, str]] = {
    MustAct.BRIDGE: f"{_LONGER}Transfers that wait for their user are listed separately.",
    MustAct.USER: f"{_LONGER}The user has to request the refund or claim it.",
}

MOST_LOOKED_AT: Final = 5_000
_BATCH: Final = 500


class Acknowledgement(Struct, frozen=True):
    """Who acknowledged a stuck transfer, when, and their note."""

    by: str
    at: datetime
    note: str


class StuckTransfer(Struct, frozen=True):
    """A stuck transfer, how long it has been in its state, and how long it may be."""

    line: TransferLine
    lasting: timedelta
    allowed: timedelta
    measured: bool
    """Whether its chains have a median; otherwise the limit is one hour."""
    new: bool
    """Whether it became stuck within the last day."""
    fingerprint: str
    """Identifies the state that was shown. An acknowledgement returns it."""
    acknowledged: Acknowledgement | None = None


class StuckCount(Struct, frozen=True):
    """How many transfers are stuck and not acknowledged, and how many of them since less than a day.

    ``number`` is exact while it is under ``COUNTED``; ``new`` is None where it is not.
    """

    number: Count
    new: int | None


class StuckPage(Struct, frozen=True):
    """The longest stuck first; ``next_page`` continues, None at the end.

    ``searching``: the page is not full, yet there are more to read (a page reads a bounded number).
    """

    transfers: tuple[StuckTransfer, ...]
    next_page: str | None
    searching: bool = False
    rule: str = ""


def stuck_transfers(
    database: Database,
    snapshots: SnapshotSource,
    page: str | None = None,
    size: int = PAGE,
    medians: Medians | None = None,
    filters: TransferFilters | None = None,
    *,
    who: MustAct = MustAct.BRIDGE,
    acknowledged: bool = False,
) -> StuckPage:
    """The transfers that have been in their state for longer than the rule allows.

    :param page: ``next_page`` of the page before.
    :param medians: those of the latencies, where the caller has them; otherwise they are read.
    :param filters: only transfers that match them are returned.
    :param who: who has to act.
    :param acknowledged: return the acknowledged ones instead of the others.
    """
    terms = snapshots.current().terms
    thresholds = Thresholds.of(medians_of_the_week(database) if medians is None else medians)
    now = database.clock()
    found: list[ListedTransfer] = []
    last: Cursor | None = None
    next_after: Cursor | None = None
    looked_at = 0
    with reading(database.reads) as connection:
        others = () if filters is None else filters.conditions()
        for row in _oldest(connection, who, now - thresholds.least, read_cursor(page), acknowledged, others):
            if last is not None and (looked_at == MOST_LOOKED_AT or len(found) == size):
                next_after = last
                break
            last, looked_at = Cursor(row.status_since, row.transfer_id), looked_at + 1
            allowed = thresholds.allowed(row.src_chain_id, row.dst_chain_id)
            if now - row.status_since > allowed:
                found.append(row)
        rows = acknowledgements_of(connection, [row.transfer_id for row in found]) if acknowledged else []
    acknowledgements = {row.transfer_id: Acknowledgement(row.by, row.at, row.note) for row in rows}
    stuck = tuple(_stuck(terms, row, thresholds, now, acknowledgements.get(row.transfer_id)) for row in found)
    next_page = None if next_after is None else write_cursor(next_after)
    return StuckPage(stuck, next_page, searching=next_page is not None and len(stuck) < size, rule=RULES[who])


def stuck_of_chain(
    database: Database, snapshots: SnapshotSource, chain_id: ChainId, size: int
) -> tuple[StuckTransfer, ...]:
    """The stuck transfers from or to a chain that are not acknowledged, the longest first.

    :param size: how many are read. Of more, some that are stuck for a shorter time are missing.
    """
    terms, now = snapshots.current().terms, database.clock()
    thresholds = _cached_thresholds(database)
    statuses = [int(status) for who in MustAct for status in STATUSES[who]]
    with reading(database.reads) as connection:
        of_chain = [or_(Transfer.src_chain_id == chain_id, Transfer.dst_chain_id == chain_id)]
        rows = oldest_in_state(connection, statuses, now - thresholds.least, None, size, others=of_chain)
    found = (_stuck(terms, row, thresholds, now, None) for row in rows)
    return tuple(each for each in found if each.lasting > each.allowed)


def limit_if_stuck(database: Database, line: TransferLine, now: datetime) -> timedelta | None:
    """How long the transfer may be in its state, where it is stuck; None where it is not."""
    if line.since is None or not any(line.status in statuses for statuses in STATUSES.values()):
        return None
    src, dst = (chain.id if chain else None for chain in (line.src, line.dst))
    allowed = _cached_thresholds(database).allowed(src, dst)
    return allowed if now - line.since > allowed else None


def _cached_thresholds(database: Database) -> Thresholds:
    """By medians that may be minutes old: those of all pairs take longer to read than all else on a page."""
    medians, _ = database.hints.run_read((medians_of_the_week,), lambda: medians_of_the_week(database))
    return Thresholds.of(medians)


def _stuck(
    terms: NetworkTerms,
    row: ListedTransfer,
    thresholds: Thresholds,
    now: datetime,
    acknowledged: Acknowledgement | None,
) -> StuckTransfer:
    allowed, lasting = thresholds.allowed(row.src_chain_id, row.dst_chain_id), now - row.status_since
    return StuckTransfer(
        line=transfer_line(terms, row),
        lasting=lasting,
        allowed=allowed,
        measured=(row.src_chain_id, row.dst_chain_id) in thresholds.by_pair,
        new=lasting - allowed <= notes.NEW_FOR,
        fingerprint=notes.stuck_fingerprint(row),
        acknowledged=acknowledged,
    )


def count_stuck(database: Database, who: MustAct, medians: Medians | None = None) -> StuckCount:
    """How many transfers are in a list of stuck ones, on all its pages.

    :param medians: those of the latencies, where the caller has them; otherwise they are read.
    """
    thresholds = Thresholds.of(medians_of_the_week(database) if medians is None else medians)
    number, new = notes.count_stuck(database, who, thresholds)
    return StuckCount(Count(number), new)


def _oldest(
    connection: Connection,
    who: MustAct,
    until: datetime,
    after: Cursor | None,
    acknowledged: bool,
    others: Sequence[ColumnElement[bool]],
) -> Iterator[ListedTransfer]:
    """The candidates, the longest in their state first, read batch by batch."""
    statuses = [int(status) for status in STATUSES[who]]
    while rows := oldest_in_state(
        connection, statuses, until, after, _BATCH, seen_to=acknowledged, others=others
    ):
        yield from rows
        after = Cursor(rows[-1].status_since, rows[-1].transfer_id)
