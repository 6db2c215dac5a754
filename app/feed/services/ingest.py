"""Ingest: read lines, load what is known, validate each event, write. Every event comes in here."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import Final

from msgspec import Struct, field
from sqlalchemy import Connection

from app.cooperation import in_turns
from app.credentials.ingest_token import EVERYTHING, IngestToken, Scope
from app.credentials.queries import last_accepted
from app.credentials.services.presented import charge, require_valid
from app.db.database import Database
from app.db.engine import run_read, writing
from app.feed.lines import ReadLine, RefusedLine, read_line, validated_by_time
from app.feed.projection.latencies import follow_window
from app.feed.services.ahead import settle
from app.feed.services.load import load_known
from app.feed.services.write import divided, write
from app.observability.counters import NOTHING_COUNTED, Counters
from app.transfers.events import REPORTED, Event, ValidatorsUpdated
from app.transfers.validation import Accepted, Refused, Repeated, Verdict, is_barrier, validate_segment
from app.values.times import rfc3339

BATCH = 1_000
"""Lines in one transaction: large enough to share its cost, small enough that other writers wait little."""

PART = 500
"""Events that are validated and written at once."""

HOLD_SECONDS = 0.2
"""After this time a batch releases the writer's lock before its next part, as an operator may wait for it."""

BATCH_BYTES = 1 << 20
"""Size limit of a batch, which is held in memory. Common events have half a kilobyte."""


UNREADABLE: Final = ("unreadable", "refused")
"""The counter for lines whose type could not be read."""


class Intake(Struct, frozen=True):
    """How deep a reorganisation may go, in blocks, and what counts the lines that come in."""

    max_reorg_blocks: int
    counters: Counters = NOTHING_COUNTED


class Terms(Struct, frozen=True):
    """The terms of a sender. Its functions are called in each transaction of the sender's lines.

    ``admit`` is called before any line is taken, ``charge`` afterwards with the number of new or refused
    lines. An error of either rolls the transaction back. ``most_in_batch`` limits the lines of one.
    """

    admit: Callable[[Connection], None] = lambda _connection: None
    charge: Callable[[Connection, int], None] = lambda _connection, _lines: None
    most_in_batch: int | None = None


WITHOUT_LIMIT: Final = Terms()


class IngestResult(Struct):
    """The outcomes of the lines."""

    refused: list[RefusedLine] = field(default_factory=list)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of readable lines by type and outcome."""

    @property
    def accepted(self) -> int:
        """Lines whose facts were new."""
        return self._number("accepted")

    @property
    def repeated(self) -> int:
        """Lines whose facts were known."""
        return self._number("repeated")

    def _number(self, outcome: str) -> int:
        return sum(number for (_, counted), number in self.outcomes.items() if counted == outcome)

    def count(self, lines: Sequence[ReadLine], verdicts: Sequence[Verdict]) -> None:
        """Add the verdicts about some lines, one for each line."""
        for line, verdict in zip(lines, verdicts, strict=True):
            match verdict:
                case Accepted():
                    outcome = "accepted"
                case Repeated():
                    outcome = "repeated"
                case Refused():
                    self.refused.append(RefusedLine(line.line, line.event.id, verdict.reason))
                    outcome = "refused"
            self.outcomes[line.event.type, outcome] += 1

    def add(self, other: IngestResult) -> None:
        """Add another result; what was refused stays in the order of the lines."""
        self.outcomes += other.outcomes
        self.refused = sorted([*self.refused, *other.refused], key=lambda refused: refused.line)

    def as_json(self) -> dict[str, object]:
        """The wire's shape."""
        refused = [{"line": r.line, "id": r.id, "reason": r.reason} for r in self.refused]
        return {"accepted": self.accepted, "repeated": self.repeated, "refused": refused}


def ingest_lines(
    database: Database,
    intake: Intake,
    lines: Iterable[bytes],
    reporter: str,
    progress: Callable[[int], None] = lambda _lines: None,
    types: Collection[str] = REPORTED,
    *,
    scope: Scope = EVERYTHING,
    terms: Terms = WITHOUT_LIMIT,
) -> IngestResult:
    """Take a feed of lines, each batch of them in a transaction of its own.

    A fact and everything that follows from it are committed together. When this returns, what
    it counts as accepted is committed; when it raises, sending the lines again is harmless. A batch
    is read to its end before its transaction begins, so that no writer waits for another's network.

    :param reporter: the name stored with every event: of the ingest token, or ``cli``.
    :param progress: called after each batch with the number of its lines.
    :param types: the event types that can be read from this kind of sender.
    :param scope: what this sender may report. Other lines are refused one by one.
    :param terms: those of the sender. An error that they raise ends the feed.
    """
    result = IngestResult()
    for batch in _batches(lines, min(BATCH, terms.most_in_batch or BATCH)):
        unreadable = IngestResult()
        parts = deque(_parts(_read(batch, database.clock(), unreadable, types)))
        uncharged = len(unreadable.refused) if terms.most_in_batch is not None else 0
        for taken in _turns(database, intake, parts, reporter, scope, terms, uncharged=uncharged):
            result.add(taken)
            intake.counters.feed(taken.outcomes)
        result.add(unreadable)
        if unreadable.refused:
            intake.counters.feed({UNREADABLE: len(unreadable.refused)})
        progress(len(batch))
    return result


def _turns(
    database: Database,
    intake: Intake,
    parts: deque[Sequence[ReadLine]],
    reporter: str,
    scope: Scope,
    terms: Terms,
    *,
    uncharged: int,
) -> Iterator[IngestResult]:
    """Take a batch in transactions of limited time, and yield what each has committed.

    :param uncharged: lines of the batch that are charged in addition to those of its parts.
    """
    while parts or uncharged:
        with writing(database.feed) as connection:
            terms.admit(connection)
            taken = _take(connection, parts, reporter, database, intake, scope, seconds=HOLD_SECONDS)
            terms.charge(connection, taken.accepted + len(taken.refused) + uncharged)
        uncharged = 0
        yield taken


def ingest_within(
    connection: Connection, database: Database, intake: Intake, lines: Iterable[bytes], reporter: str
) -> IngestResult:
    """As :func:`ingest_lines`, all within a transaction that the caller opened by ``writing``."""
    result = IngestResult()
    for batch in _batches(lines, BATCH):
        if readable := _read(batch, database.clock(), result, REPORTED):
            result.add(_take(connection, deque(_parts(readable)), reporter, database, intake))
    return result


def ingest_events_within(
    connection: Connection, database: Database, intake: Intake, events: Sequence[Event], reporter: str
) -> IngestResult:
    """As :func:`ingest_within`, of events that the gateway made itself. ``line`` counts them from 1.

    :param events: each as the schema of its type would have read it from a line.
    """
    result, now = IngestResult(), database.clock()
    for start in range(0, len(events), BATCH):
        batch = enumerate(events[start : start + BATCH], start=start + 1)
        validated = [validated_by_time(ReadLine(number, event), now) for number, event in batch]
        result.refused += [line for line in validated if isinstance(line, RefusedLine)]
        if readable := [line for line in validated if isinstance(line, ReadLine)]:
            result.add(_take(connection, deque(_parts(readable)), reporter, database, intake))
    return result


def _batches(lines: Iterable[bytes], most: int) -> Iterator[list[tuple[int, bytes]]]:
    batch: list[tuple[int, bytes]] = []
    size = 0
    for number, line in enumerate(lines, start=1):
        batch.append((number, line))
        size += len(line)
        if len(batch) >= most or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _read(
    batch: list[tuple[int, bytes]], now: datetime, result: IngestResult, types: Collection[str]
) -> list[ReadLine]:
    readable: list[ReadLine] = []
    for number, text in in_turns(batch):
        line = read_line(number, text, now, types)
        if isinstance(line, ReadLine):
            readable.append(line)
        elif line is not None:
            result.refused.append(line)
    return readable


def _take(
    connection: Connection,
    parts: deque[Sequence[ReadLine]],
    reporter: str,
    database: Database,
    intake: Intake,
    scope: Scope = EVERYTHING,
    *,
    seconds: float = math.inf,
) -> IngestResult:
    """Load what is known, validate and write the parts of the batch, each taken from ``parts``.

    :param seconds: parts that are left after this time stay there.
    """
    result, now = IngestResult(), database.clock()
    until = time.monotonic() + seconds
    settle(connection, now)
    while parts:
        segment = parts.popleft()
        events = [line.event for line in segment]
        limited_to = segment[0].limited_to
        is_exported = limited_to is not None and scope.chains is None
        admitted = Scope(chains=limited_to, is_exported=True) if is_exported else scope
        known = load_known(connection, events, admitted, intake.max_reorg_blocks, reporter)
        verdicts = validate_segment(in_turns(events), known)
        if len(numbers := divided(connection, events, known)) > 1:
            lines = iter(segment)
            parts.extendleft(reversed([list(islice(lines, number)) for number in numbers]))
            continue
        write(connection, events, verdicts, known, reporter=reporter, now=now)
        result.count(segment, verdicts)
        if time.monotonic() >= until:
            break
    follow_window(connection, now)
    return result


def _parts(lines: Iterable[ReadLine]) -> Iterator[Sequence[ReadLine]]:
    """Split at the barriers, each of which is a part of its own; validator sets in a row share one."""

    def kind(line: ReadLine) -> tuple[object, ...]:
        return is_barrier(line.event), isinstance(line.event, ValidatorsUpdated), line.limited_to

    for (barrier, rotations, _), segment in groupby(lines, key=kind):
        most = 1 if barrier and not rotations else PART
        while part := list(islice(segment, most)):
            yield part


class Cursor(Struct, frozen=True):
    """The last event that was accepted from a reporter; ``seq`` is its position in the log."""

    id: str
    type: str
    at: datetime
    received_at: datetime
    seq: int

    def as_json(self) -> dict[str, object]:
        """The wire's shape: times in RFC 3339, in UTC."""
        at, received_at = (rfc3339(time) for time in (self.at, self.received_at))
        return {"id": self.id, "type": self.type, "at": at, "received_at": received_at, "seq": self.seq}


def report(database: Database, intake: Intake, token: IngestToken, lines: Iterable[bytes]) -> IngestResult:
    """Take a feed of lines from the token's bearer; each event is stored with the token's name.

    Lines outside the token's scope are refused one by one. When this returns, what it counts as
    accepted is committed.

    :raises Unauthorized: the token was revoked or expired meanwhile.
    :raises QuotaExceeded: it has reported as much as it may in this period. In both cases the batches
        before are committed, and nothing of this one.
    """
    terms = Terms(
        admit=lambda connection: require_valid(connection, token, database.clock()),
        charge=lambda connection, events: charge(connection, token, events, database.clock()),
        most_in_batch=token.quota.events if token.quota else None,
    )
    return ingest_lines(database, intake, lines, token.name, scope=token.scope, terms=terms)


def cursor(database: Database, token: IngestToken) -> Cursor | None:
    """The last event that was accepted from the token's bearer; None where there is none.

    After a restore the bearer sends again what it reported after that event.
    """
    row = run_read(database.reads, last_accepted, token.name)
    return None if row is None else Cursor(row.event_id, row.type, row.at, row.received_at, row.seq)
