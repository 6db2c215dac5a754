"""Ingest: read lines, load what is known, validate each event, write. Every event comes in here."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace
from sqlalchemy import Connection

from app.cooperation import in_turns
from app.credentials.queries import last_accepted
from app.credentials.rules.ingest_token import EVERYTHING, IngestToken, Scope
from app.credentials.services.presented import charge, require_valid
from app.db.database import Database
from app.db.engine import run_read, writing
from app.db.timeouts import timeouts_of
from app.feed.lines import ReadLine, RefusedLine, read_line, validated_by_time
from app.feed.projection.latencies import follow_window
from app.feed.services.ahead import settle
from app.feed.services.load import InDoubt, load_known, no_doubts, note_sender
from app.feed.services.numbering import Names, names_before
from app.feed.services.posts import WITHOUT_LIMIT, IngestResult, Post, PostQueue, Sender, Take, Terms
from app.feed.services.write import divided, write
from app.network.queries import load_configured_facts
from app.network.rules.facts import NetworkFacts
from app.observability.counters import NOTHING_COUNTED, Counters
from app.transfers.rules.events.events import (
    REPORTED,
    ChainHead,
    Event,
    FeeUpdated,
    RefundPrepared,
    ValidatorsUpdated,
)
from app.transfers.rules.validation import Known, Verdict, is_barrier, validate_segment
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
    """How deep a reorganisation may go, in blocks, what counts the lines that come in, and who waits.

    :param in_doubt: which blocks of a chain the watcher may still take something back from.
    """

    max_reorg_blocks: int
    counters: Counters = NOTHING_COUNTED
    queue: PostQueue = field(default_factory=PostQueue)
    in_doubt: InDoubt = no_doubts


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
    """Take a feed of lines, each batch of them in one transaction with others that wait, or in several.

    A fact and everything that follows from it are committed together. When this returns, what
    it counts as accepted is committed; when it raises, sending the lines again is harmless. A batch
    is read to its end before its transaction begins, so that no writer waits for another's network.

    :param reporter: the name stored with every event: of the ingest token, or ``features``.
    :param progress: called after each batch with the number of its lines.
    :param types: the event types that can be read from this kind of sender.
    :param scope: what this sender may report. Other lines are refused one by one.
    :param terms: those of the sender. An error that they raise ends the feed.
    """
    result, sender = IngestResult(), Sender(reporter, scope, terms)
    has_quota = terms.most_in_batch is not None

    commit = partial(commit_posts, database, intake)
    for batch in _batches(lines, min(BATCH, terms.most_in_batch or BATCH)):
        unreadable = IngestResult()
        readable = _read(batch, database.clock(), unreadable, types)
        uncharged = len(unreadable.refused) if has_quota else 0
        # Whether it fits into a quota is known only when it is written: it must not be undone with others.
        post = Post(sender, readable, uncharged, result, goes_alone=has_quota)
        intake.queue.commit(post, commit, most=BATCH, seconds=timeouts_of(database.feed).lock)
        result.add(unreadable)
        if unreadable.refused:
            intake.counters.feed({UNREADABLE: len(unreadable.refused)})
        progress(len(batch))
    return result


def commit_posts(database: Database, intake: Intake, take: Take) -> None:
    """Commit what there is time for of the posts that wait, in one transaction."""
    with writing(database.feed) as connection:
        posts = take()
        for post in posts:
            post.sender.terms.admit(connection)
        taken = _take(connection, posts, database, intake, seconds=HOLD_SECONDS)
        for post in posts:
            new = taken[post].accepted + len(taken[post].refused)
            post.sender.terms.charge(connection, new + post.uncharged)
    for post in posts:
        post.committed(taken[post])
        intake.counters.feed(taken[post].outcomes)


def ingest_within(
    connection: Connection, database: Database, intake: Intake, lines: Iterable[bytes], reporter: str
) -> IngestResult:
    """As :func:`ingest_lines`, all within a transaction that the caller opened by ``writing``."""
    result = IngestResult()
    for batch in _batches(lines, BATCH):
        if readable := _read(batch, database.clock(), result, REPORTED):
            post = Post(Sender(reporter), readable)
            result.add(_take(connection, [post], database, intake)[post])
    return result


def ingest_events_within(
    connection: Connection, database: Database, intake: Intake, events: Sequence[Event], reporter: str
) -> IngestResult:
    """As :func:`ingest_within`, of events that the gateway made itself. ``line`` counts them from 1.

    :param events: each as the schema of its type would have read it from a line.
    """
    now = database.clock()
    validated = [validated_by_time(ReadLine(number, event), now) for number, event in enumerate(events, 1)]
    result = IngestResult([line for line in validated if isinstance(line, RefusedLine)])
    readable = [line for line in validated if isinstance(line, ReadLine)]
    for start in range(0, len(readable), BATCH):
        post = Post(Sender(reporter), readable[start : start + BATCH], report=readable)
        result.add(_take(connection, [post], database, intake)[post])
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


Part = Sequence[tuple[Post, ReadLine]]
"""Lines that are validated and written at once; those of a post follow each other."""


def _take(
    connection: Connection,
    posts: Sequence[Post],
    database: Database,
    intake: Intake,
    *,
    seconds: float = math.inf,
) -> dict[Post, IngestResult]:
    """Load what is known, validate and write the lines of posts, as if one post came after the other.

    :param seconds: parts that are left after this time are not taken.
    """
    results, now = {post: IngestResult() for post in posts}, database.clock()
    until = time.monotonic() + seconds
    settle(connection, now)
    follow_window(connection, now)
    _spell_fees(connection, posts)
    names = names_before(connection, posts)
    parts = deque(_parts(posts))
    while parts:
        part = parts.popleft()
        events = [_named(line.event, post, names) for post, line in part]
        known = load_known(
            connection, events, part[0][0].sender.reporter, intake.max_reorg_blocks, intake.in_doubt
        )
        verdicts = list(_verdicts(connection, part, names, known))
        if len(numbers := divided(connection, events, known)) > 1:
            rest = iter(part)
            parts.extendleft(reversed([list(islice(rest, number)) for number in numbers]))
            continue
        write(
            connection, events, verdicts, known, reporters=[post.sender.reporter for post, _ in part], now=now
        )
        for (post, line), verdict in zip(part, verdicts, strict=True):
            results[post].count(line, verdict)
        if time.monotonic() >= until:
            break
    return results


def _verdicts(
    connection: Connection, part: Part, names: Mapping[Post, Names], known: Known
) -> Iterator[Verdict]:
    for post, of_post in groupby(part, key=itemgetter(0)):
        lines = [line for _, line in of_post]
        reported = [_named(line.event, post, names) for line in lines]
        note_sender(connection, known, reported, post.sender.reporter, _scope(post.sender, lines[0]))
        known.is_belated = lines[0].is_belated
        yield from validate_segment(in_turns(reported), known)


def _named(event: Event, post: Post, names: Mapping[Post, Names]) -> Event:
    return names[post].get(event, event) if names else event


def _spell_fees(connection: Connection, posts: Iterable[Post]) -> None:
    """Write the symbols of reported fees as the configuration does: the subject of a fee is its route."""
    for post in posts:
        if any(isinstance(line.event, FeeUpdated) for line in post.lines):
            facts = load_configured_facts(connection)
            post.lines = [_spelled(line, facts) for line in post.lines]


def _spelled(line: ReadLine, facts: NetworkFacts) -> ReadLine:
    fee = line.event
    if not isinstance(fee, FeeUpdated):
        return line
    return replace(line, event=replace(fee, symbol=facts.spelled(fee.src_chain_id, fee.symbol)))


def _scope(sender: Sender, line: ReadLine) -> Scope:
    """The scope of the sender, or the one by which a line of an exported log was admitted."""
    is_exported = line.limited_to is not None and sender.scope.chains is None
    return Scope(chains=line.limited_to, is_exported=True) if is_exported else sender.scope


def _parts(posts: Iterable[Post]) -> Iterator[Part]:
    """Split at the barriers, each of which is a part of its own; validator sets in a row share one.

    Lines of several posts share a part where none of them could matter to another's.
    """
    part: list[tuple[Post, ReadLine]] = []
    for post in posts:
        for number, lines in enumerate(_parts_of(post.lines)):
            if part and (number or len(part) + len(lines) > PART or not _may_follow(part, lines)):
                yield part
                part = []
            part += [(post, line) for line in lines]
    if part:
        yield part


def _may_follow(part: Part, lines: Sequence[ReadLine]) -> bool:
    before, events = [line.event for _, line in part], [line.event for line in lines]
    if any(is_barrier(event) or isinstance(event, RefundPrepared) for event in before):
        return False  # a request takes up signatures that waited for it, at the end of the log
    if any(is_barrier(event) or isinstance(event, ChainHead) for event in events):
        return False  # a head is validated by how far its chain had been read before the part
    return {event.subject for event in before}.isdisjoint(event.subject for event in events)


def _parts_of(lines: Iterable[ReadLine]) -> Iterator[Sequence[ReadLine]]:
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
