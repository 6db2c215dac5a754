"""Appends to the event log, exports it so that `events ingest` can take it again, and removes heads of chains
on which no answer depends any more.

How far a chain was read follows from its highest canonical head and its last reorganisation. An earlier,
lower head adds nothing to a later, higher one in any reorganisation. Heads that a reorganisation may still
reach are retained all the same, so that an operator may retract the newest
(docs/decisions/0009-pruning.md#heads).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, exists, insert, update
from sqlalchemy.orm import aliased

from app.cooperation import in_turns
from app.credentials.rules.ingest_token import FROM_FILES
from app.db.database import Database
from app.db.engine import reading, reading_consistently
from app.db.types import is_one_of
from app.db.upserts import append as append_rows
from app.feed import models as table
from app.feed.lines import exported_line
from app.feed.queries.chains import OUT_OF_REACH, HeadEntry, OutOfReach, load_progress, lowest_head
from app.feed.queries.log import acceptances_of, every_retraction, grown_transfers, log_page, named_by
from app.refunds.models import SignatureNotNeeded
from app.transfers import models as log
from app.transfers.rules.events.canonical import Retraction, is_ahead
from app.transfers.rules.events.codec import encode_event
from app.transfers.rules.events.counting import Logged
from app.transfers.rules.events.event_types import (
    ChainHead,
    ChainReorged,
    Event,
    EventsRetracted,
    TransferEvent,
)
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.events.reorganisations import still_needed
from app.transfers.rules.validation import LogEntry
from app.values.amounts import grouped
from app.values.identifiers import ChainId

_COMPLAINT = (
    "this database was filled by `sandbox grow` for measurements: its {} transfers have no events; use "
    "another database (DATABASE_URL)"
)


class NoEventLog(RuntimeError):
    """Work on the log was requested of a database without one; the message says what to do."""


def refuse_grown(connection: Connection) -> None:
    """:raises NoEventLog: the transfers of this database have no events."""
    transfers = grown_transfers(connection)
    if transfers is not None:
        raise NoEventLog(_COMPLAINT.format(grouped(transfers)))


def grown_complaint(database: Database) -> str | None:
    """Why commands about the log cannot be used, for the operator; None where they can."""
    try:
        with reading(database.reads) as connection:
            refuse_grown(connection)
    except NoEventLog as complaint:
        return str(complaint)
    return None


PAGE = 500  # acceptances read at a time

TARGETS_AT_ONCE: Final = 1_000
"""Rows of the events that retractions name, written by one statement."""


def append(connection: Connection, entries: Iterable[LogEntry], received_at: datetime) -> None:
    """Write acceptances to the end of the log, which are ahead of the clock, and what retractions name."""
    entries = list(entries)
    rows = [_row(entry, received_at) for entry in in_turns(entries)]
    append_rows(connection, log.Event, rows)
    ahead = [entry for entry in entries if is_ahead(entry.event, received_at)]
    if ahead:
        rows = [{"seq": entry.seq, "at": entry.event.at} for entry in ahead]
        connection.execute(insert(log.EventAhead), rows)
    _note_targets(connection, entries)


def _row(entry: LogEntry, received_at: datetime) -> dict[str, Any]:
    event = entry.event
    return {
        "seq": entry.seq,
        "event_id": event.id,
        "subject": event.subject,
        "occurrence": entry.occurrence,
        "type": event.type,
        "at": event.at,
        "received_at": received_at,
        "reporter": entry.reporter,
        "transfer_id": getattr(event, "transfer_id", None),
        "chain_id": None if isinstance(event, TransferEvent) else getattr(event, "chain_id", None),
        "block": entry.block,
        "limited_to": entry.chains,
        "body": encode_event(event),
    }


def drop_superseded(connection: Connection, entries: Iterable[LogEntry], canonical: Collection[int]) -> None:
    """Remove earlier acceptances on which no answer depends any more, so that repetitions add nothing.

    :param entries: new acceptances, which are in the log and projected already.
    :param canonical: positions of those whose event was canonical before.
    """
    again = [entry for entry in entries if entry.occurrence]
    if not again:
        return
    rows = list(acceptances_of(connection, {entry.event.key for entry in again}))
    retained = still_needed(
        ((row.seq, (row.subject, row.event_id, row.reporter, row.limited_to, row.is_whole)) for row in rows),
        {each.seq: each.seq in canonical and not isinstance(each.event, ChainReorged) for each in again},
    )
    if gone := [row.seq for row in rows if row.seq not in retained]:
        remove_acceptances(connection, gone)
        _number_again(connection, [row for row in rows if row.seq in retained])


def _number_again(connection: Connection, rows: Iterable[Row[*tuple[Any, ...]]]) -> None:
    """Number what is left of each event's acceptances without gaps, as every release expects it."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        number = counts[row.subject, row.event_id]
        counts[row.subject, row.event_id] += 1
        if row.occurrence != number:
            of_row = update(log.Event).where(log.Event.seq == row.seq)
            connection.execute(of_row.values(occurrence=number))


def export_log(database: Database) -> Iterator[bytes]:
    """The log as lines of JSON in its order, each with its ``seq``, ``reporter`` and ``received_at``.

    ``events ingest`` takes the lines again: into an empty database with the same network it gives the same
    answers.
    """
    with reading_consistently(database.engine) as connection:
        last = 0
        while rows := log_page(connection, last, PAGE):
            for row in rows:
                yield exported_line(row)
            last = rows[-1].seq


def retractions_among(entries: Iterable[LogEntry]) -> list[Logged[EventsRetracted]]:
    return [
        Logged(entry.seq, event) for entry in entries if isinstance(event := entry.event, EventsRetracted)
    ]


def _note_targets(connection: Connection, entries: Iterable[LogEntry]) -> None:
    """Store what the retractions among the entries name. They are in the log already."""
    if retractions := retractions_among(entries):
        _insert(connection, named_by(connection, retractions))


def note_every_target(connection: Connection) -> int:
    """Store again what every retraction in the log names. Returns the number of retractions."""
    retractions = every_retraction(connection)
    connection.execute(delete(log.RetractionTarget))
    _insert(connection, retractions)
    return len(retractions)


def _insert(connection: Connection, retractions: Iterable[Retraction]) -> None:
    rows = [
        {"subject": key.subject, "event_id": key.id, "seq": each.seq}
        for each in retractions
        for key in sorted(set(each.targets))
    ]
    for start in range(0, len(rows), TARGETS_AT_ONCE):
        connection.execute(insert(log.RetractionTarget), rows[start : start + TARGETS_AT_ONCE])


def remove_acceptances(connection: Connection, positions: Collection[int]) -> None:
    """Remove superseded acceptances from the log, and the changes of statuses that they made.

    The newest change of a transfer stays: it has the present status.
    """
    for model in (log.Event, log.EventAhead, SignatureNotNeeded):
        connection.execute(delete(model).where(is_one_of(connection, model.seq, positions)))
    row, later = table.JournalRow, aliased(table.JournalRow)
    is_newest = ~exists().where(later.transfer_id == row.transfer_id, later.sequence > row.sequence)
    connection.execute(
        delete(row).where(is_one_of(connection, row.seq, positions), row.is_later.is_(False), ~is_newest)
    )


AT_ONCE: Final = 1_000
"""The most heads of a chain that one batch drops, so that those of an earlier release go little by little."""

_GONE: Final = OUT_OF_REACH.limit(bindparam("most")).subquery()
_DROP: Final = delete(log.Event).where(log.Event.seq.in_(_GONE.select()))


def drop_heads(connection: Connection, accepted: Iterable[LogEntry], depth: int) -> None:
    """Drop the heads of reporters that their newly accepted ones put out of reach of reorganisations.

    An exported log has the heads of all reporters. Wrong ones, which are retracted further on, would push out
    the right ones. So those that are read from files stay until they are pruned.

    :param accepted: entries that are in the log already, and none that is ahead of the clock.
    :param depth: how many blocks a reorganisation may reach back.
    """
    highest: dict[tuple[str, ChainId], HeadEntry] = {}
    for entry in accepted:
        head = entry.event
        if isinstance(head, ChainHead) and head.block is not None and entry.reporter != FROM_FILES:
            this, key = HeadEntry(head.block, entry.seq, head.at), (entry.reporter, head.chain_id)
            highest[key] = max(this, highest.get(key, this))
    for (reporter, chain_id), newest in sorted(highest.items()):
        drop(connection, OutOfReach(reporter, chain_id, newest, depth), AT_ONCE)


def drop(connection: Connection, these: OutOfReach, most: int) -> int:
    """Remove the lowest of these heads from the log. Returns how many. The caller is the only writer."""
    return connection.execute(_DROP, these.bounds | {"most": most}).rowcount


def dropped_before(
    connection: Connection, reported: Iterable[Event], reporter: str, depth: int
) -> frozenset[EventKey]:
    """The heads missing in the log that its reporter has probably reported before.

    They are below all that the log has of the chain, out of reach of reorganisations.
    """
    if reporter == FROM_FILES:  # what had left the log before is not in the file
        return frozenset()
    heads = [each for each in reported if isinstance(each, ChainHead) and each.block is not None]
    progress = load_progress(connection, {head.chain_id for head in heads}) if heads else {}
    low: dict[ChainId, list[ChainHead]] = {}
    for head in heads:
        known = progress.get(head.chain_id)
        if known is None or known.highest_block is None or head.block is None:
            continue
        if head.block < known.highest_block - depth and head.at <= known.newest_at:
            low.setdefault(head.chain_id, []).append(head)
    found: set[EventKey] = set()
    for chain_id, of_chain in low.items():
        lowest = lowest_head(connection, reporter, chain_id)
        if lowest is not None:
            found |= {head.key for head in of_chain if head.block is not None and head.block < lowest}
    return frozenset(found)
