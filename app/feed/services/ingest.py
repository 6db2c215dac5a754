"""Ingest: read lines, load what is known, validate each event, write. Every event comes in here."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from threading import Event as Signal
from threading import Lock
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace
from sqlalchemy import Connection
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.cooperation import in_turns
from app.credentials.queries import last_accepted
from app.credentials.rules.ingest_token import EVERYTHING, IngestToken, Scope
from app.credentials.services.presented import charge, require_valid
from app.db.database import Database
from app.db.engine import run_read, writing
from app.db.timeouts import timeouts_of
from app.feed.lines import ReadLine, RefusedLine, read_line, validated_by_time
from app.feed.projection.latencies import follow_window
from app.feed.queries.log import chains_read_by, events_of_logs
from app.feed.services.ahead import settle
from app.feed.services.load import load_known, note_sender
from app.feed.services.write import divided, write
from app.network.queries import load_configured_facts
from app.network.rules.validation_facts import NetworkFacts
from app.observability.counters import NOTHING_COUNTED, Counters
from app.transfers.rules.certainty import WATCHER
from app.transfers.rules.events.event_types import (
    REPORTED,
    ChainHead,
    Event,
    FeeUpdated,
    RefundPrepared,
    TransferEvent,
    ValidatorsUpdated,
)
from app.transfers.rules.events.renumbered import LogName, as_reported_before, log_name
from app.transfers.rules.validation import (
    Accepted,
    Known,
    Refused,
    Repeated,
    Verdict,
    is_barrier,
    validate_segment,
)
from app.values.identifiers import BlockNumber, ChainId
from app.values.times import rfc3339


class Terms(Struct, frozen=True):
    """The terms of a sender. Its functions are called in each transaction of the sender's lines.

    An error of either rolls the transaction back.

    :param admit: called before any line is taken.
    :param charge: called afterwards with the number of new or refused lines.
    :param most_in_batch: lines of one transaction.
    """

    admit: Callable[[Connection], None] = lambda _connection: None
    charge: Callable[[Connection, int], None] = lambda _connection, _lines: None
    most_in_batch: int | None = None


WITHOUT_LIMIT: Final = Terms()


class Sender(Struct, frozen=True):
    """Who reports.

    :param reporter: the name stored with every event: of the ingest token, or ``features``.
    :param scope: what it may report. Other lines are refused one by one.
    """

    reporter: str
    scope: Scope = EVERYTHING
    terms: Terms = WITHOUT_LIMIT


class IngestResult(Struct):
    """The outcomes of the lines.

    :param outcomes: the number of readable lines by type and outcome.
    """

    refused: list[RefusedLine] = field(default_factory=list)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)

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

    def count(self, line: ReadLine, verdict: Verdict) -> None:
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
        """Refused lines stay in the order of the lines."""
        self.outcomes += other.outcomes
        self.refused = sorted([*self.refused, *other.refused], key=lambda refused: refused.line)

    def as_json(self) -> dict[str, object]:
        refused = [{"line": r.line, "id": r.id, "reason": r.reason} for r in self.refused]
        return {"accepted": self.accepted, "repeated": self.repeated, "refused": refused}


class Post(Struct, eq=False):
    """A batch of one sender's lines on its way into the log. It is done when all of them are committed.

    :param lines: those that are not committed yet, in their order.
    :param uncharged: lines that are charged in addition to those of its first transaction.
    :param result: of what is committed.
    :param goes_alone: it needs a transaction of its own.
    :param is_taken: a transaction with it is under way.
    :param turn: set when it is first in the queue, and when it is done.
    :param report: all that its sender reported at once, also where it is committed in batches; left out,
        ``lines``.
    """

    sender: Sender
    lines: Sequence[ReadLine]
    uncharged: int = 0
    result: IngestResult = field(default_factory=IngestResult)
    goes_alone: bool = False
    is_taken: bool = False
    turn: Signal = field(default_factory=Signal)
    report: Sequence[ReadLine] = ()

    def __post_init__(self) -> None:
        self.report = self.report or self.lines

    @property
    def is_done(self) -> bool:
        return not self.lines and not self.uncharged

    def committed(self, taken: IngestResult) -> None:
        self.result.add(taken)
        self.lines = self.lines[taken.outcomes.total() :]
        self.uncharged = 0


Take = Callable[[], Sequence[Post]]
"""Returns the posts to commit now, the first in the queue first."""


class PostQueue:
    """The posts of this process that wait for the writer, in the order of their arrival.

    Only the first waits for the database. It commits those that came until it is its turn as well. Where that
    fails, each of them gets a transaction of its own, so that no sender is refused for another's lines.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._posts: deque[Post] = deque()
        self._leader: Post | None = None

    def commit(self, post: Post, work: Callable[[Take], None], *, most: int, seconds: float) -> None:
        """Return when the post is committed.

        :param work: commits the posts that it takes in one transaction, or as many of their lines as there
            is time for, and notes what it committed in each. It takes none before it is the only writer.
        :param most: lines of a transaction of several posts.
        :param seconds: how long to wait to be the first.
        :raises TimeoutError: of SQLAlchemy: it was not first in time. Nothing of it is committed later.
        """
        try:
            while not post.is_done:
                self._wait(post, seconds)
                if not post.is_done:
                    with self._leading(post, most) as take:
                        work(take)
        finally:
            self._leave(post)

    def _wait(self, post: Post, seconds: float) -> None:
        """Wait at the end of the queue until it is the turn of the post, or until another committed it."""
        with self._lock:
            if post not in self._posts:
                self._posts.append(post)
            self._next()
        while not post.turn.wait(seconds):
            with self._lock:
                if not post.is_taken and not post.turn.is_set():
                    raise PoolTimeout(f"the writer was not free within {seconds:g} s")

    @contextmanager
    def _leading(self, post: Post, most: int) -> Iterator[Take]:
        group: list[Post] = []
        is_committed = False

        def take() -> Sequence[Post]:
            with self._lock:
                group.extend(self._together(most))
                for each in group:
                    each.is_taken = True
            return group

        try:
            yield take
            is_committed = True
        except Exception:
            if len(group) < 2:
                raise
            for each in group:
                each.goes_alone = True
        finally:
            self._end_turn(post, group, is_committed=is_committed)

    def _together(self, most: int) -> Iterator[Post]:
        lines = 0
        for number, post in enumerate(self._posts):
            lines += len(post.lines)
            if number and (post.goes_alone or lines > most):
                return
            yield post
            if post.goes_alone:
                return

    def _end_turn(self, post: Post, group: Sequence[Post], *, is_committed: bool) -> None:
        with self._lock:
            for each in group:
                each.is_taken = False
                if each.is_done and each in self._posts:
                    self._posts.remove(each)
                    each.turn.set()
            if not post.is_done:
                post.turn.clear()
                if is_committed:  # others have their turn before the rest of a long one
                    self._posts.remove(post)
            self._leader = None
            self._next()

    def _leave(self, post: Post) -> None:
        with self._lock:
            if post in self._posts:
                self._posts.remove(post)
            if self._leader is post:
                self._leader = None
            self._next()

    def _next(self) -> None:
        if self._leader is None and self._posts:
            self._leader = self._posts[0]
            self._leader.turn.set()


Names = Mapping[Event, Event]
"""Events of a post, each under the id that its fact was reported by before."""


def names_before(connection: Connection, posts: Sequence[Post]) -> dict[Post, Names]:
    """By post those of its events that were reported under another id.

    Of several that say the same there are as many as the post with the most of them has. Each post counts
    after those before it. Only the watcher knows how often a transaction says the same. So this is decided
    where it reads the block, or has read it while the chain was watched.
    """
    of_logs = {post: {line.event: name for line in post.report if (name := _name(line))} for post in posts}
    chain_ids = {name.chain_id for names in of_logs.values() for name in names.values()}
    if not chain_ids:
        return {}
    watched = load_configured_facts(connection).watched
    read = chains_read_by(connection, WATCHER, chain_ids)
    names = {
        event: name
        for post, of_post in of_logs.items()
        for event, name in of_post.items()
        if name.chain_id in read or _is_watched(post, event, name, watched)
    }
    if not names:
        return {}
    transfer_ids = {event.transfer_id for event in names if isinstance(event, TransferEvent)}
    of_chains = {name.tx for event, name in names.items() if not isinstance(event, TransferEvent)}
    logged = events_of_logs(connection, transfer_ids, of_chains)
    known = {name.tx for event, by in logged if by == WATCHER and (name := log_name(event))}
    reported = [event for event, _ in logged]
    found: dict[Post, Names] = {}
    for post, of_post in of_logs.items():
        events = [
            event
            for event, name in of_post.items()
            if name.tx in known or _is_watched(post, event, name, watched)
        ]
        again = as_reported_before(events, reported)
        found[post] = {event: first for event, first in zip(events, again, strict=True) if event != first}
        reported += again
    return found


def _name(line: ReadLine) -> LogName | None:
    """The name of the log that a line is about. The lines of an exported log have the right ids."""
    return None if line.is_exported else log_name(line.event)


def _is_watched(post: Post, event: Event, name: LogName, watched: Mapping[ChainId, BlockNumber]) -> bool:
    if post.sender.reporter == WATCHER:
        return True
    first, block = watched.get(name.chain_id), getattr(event, "block", None)
    return first is not None and (block is None or block >= first)


BATCH = 1_000
"""Lines in one transaction: large enough to share its cost, small enough that other writers wait little."""

SEGMENT = 500
"""Events that are validated and written at once."""

HOLD_SECONDS = 0.2
"""After this time a batch releases the writer's lock before its next segment: an operator may wait for it."""

BATCH_BYTES = 1 << 20
"""Size limit of a batch, which is held in memory. Common events have half a kilobyte."""

UNREADABLE: Final = ("unreadable", "refused")
"""The counter for lines whose type could not be read."""


class Intake(Struct, frozen=True):
    """The greatest depth of a reorganisation in blocks, the counters of lines, and the queue of posts."""

    max_reorg_blocks: int
    counters: Counters = NOTHING_COUNTED
    queue: PostQueue = field(default_factory=PostQueue)


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


Segment = Sequence[tuple[Post, ReadLine]]
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

    :param seconds: segments that are left after this time are not taken.
    """
    results, now = {post: IngestResult() for post in posts}, database.clock()
    until = time.monotonic() + seconds
    names = _prepared(connection, posts, now)
    segments = deque(_segments(posts))
    while segments:
        segment = segments.popleft()
        events = [_named(line.event, post, names) for post, line in segment]
        known = load_known(connection, events, segment[0][0].sender.reporter, intake.max_reorg_blocks)
        verdicts = list(_verdicts(connection, segment, names, known))
        if len(numbers := divided(connection, events, known)) > 1:
            rest = iter(segment)
            segments.extendleft(reversed([list(islice(rest, number)) for number in numbers]))
            continue
        reporters = [post.sender.reporter for post, _ in segment]
        write(connection, events, verdicts, known, reporters=reporters, now=now)
        for (post, line), verdict in zip(segment, verdicts, strict=True):
            results[post].count(line, verdict)
        if time.monotonic() >= until:
            break
    return results


def _prepared(connection: Connection, posts: Sequence[Post], now: datetime) -> dict[Post, Names]:
    """Bring the projections up to this moment, and the events to the spelling and the ids of the log.

    :returns: the ids, see :func:`names_before`.
    """
    settle(connection, now)
    follow_window(connection, now)
    _spell_fees(connection, posts)
    return names_before(connection, posts)


def _verdicts(
    connection: Connection, segment: Segment, names: Mapping[Post, Names], known: Known
) -> Iterator[Verdict]:
    for post, of_post in groupby(segment, key=itemgetter(0)):
        lines = [line for _, line in of_post]
        reported = [_named(line.event, post, names) for line in lines]
        note_sender(connection, known, reported, post.sender.reporter, _scope(post.sender, lines[0]))
        if lines[0].is_belated:
            known.belated = {reported[0].key: True}
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


def _segments(posts: Iterable[Post]) -> Iterator[Segment]:
    """Split at the barriers, each of which is a segment of its own; validator sets in a row share one.

    Lines of several posts share a segment where none of them could matter to another's.
    """
    segment: list[tuple[Post, ReadLine]] = []
    for post in posts:
        for number, lines in enumerate(_segments_of(post.lines)):
            if segment and (number or len(segment) + len(lines) > SEGMENT or not _may_follow(segment, lines)):
                yield segment
                segment = []
            segment += [(post, line) for line in lines]
    if segment:
        yield segment


def _may_follow(segment: Segment, lines: Sequence[ReadLine]) -> bool:
    before, events = [line.event for _, line in segment], [line.event for line in lines]
    if any(is_barrier(event) or isinstance(event, RefundPrepared) for event in before):
        return False  # a request takes up signatures that waited for it, at the end of the log
    if any(is_barrier(event) or isinstance(event, ChainHead) for event in events):
        return False  # a head is validated by how far its chain had been read before the segment
    return {event.subject for event in before}.isdisjoint(event.subject for event in events)


def _segments_of(lines: Iterable[ReadLine]) -> Iterator[Sequence[ReadLine]]:
    def kind(line: ReadLine) -> tuple[object, ...]:
        return is_barrier(line.event), isinstance(line.event, ValidatorsUpdated), line.limited_to

    for (barrier, rotations, _), of_kind in groupby(lines, key=kind):
        most = 1 if barrier and not rotations else SEGMENT
        while segment := list(islice(of_kind, most)):
            yield segment


class Cursor(Struct, frozen=True):
    """The last event that was accepted from a reporter; ``seq`` is its position in the log."""

    id: str
    type: str
    at: datetime
    received_at: datetime
    seq: int

    def as_json(self) -> dict[str, object]:
        """Times in RFC 3339, in UTC."""
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
