"""Batches of lines that wait for the only writer: the first in the queue commits those behind it as well."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock
from typing import Final

from msgspec import Struct, field
from sqlalchemy import Connection
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.credentials.rules.ingest_token import EVERYTHING, Scope
from app.feed.lines import ReadLine, RefusedLine
from app.transfers.rules.validation import Accepted, Refused, Repeated, Verdict


class Terms(Struct, frozen=True):
    """The terms of a sender. Its functions are called in each transaction of the sender's lines.

    ``admit`` is called before any line is taken, ``charge`` afterwards with the number of new or refused
    lines. An error of either rolls the transaction back. ``most_in_batch`` limits the lines of one.
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

    def count(self, line: ReadLine, verdict: Verdict) -> None:
        """Add the verdict about a line."""
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


class Post(Struct, eq=False):
    """A batch of one sender's lines on its way into the log. It is done when all of them are committed."""

    sender: Sender
    lines: Sequence[ReadLine]
    """Those that are not committed yet, in their order."""
    uncharged: int = 0
    """Lines that are charged in addition to those of its first transaction."""
    result: IngestResult = field(default_factory=IngestResult)
    """Of what is committed."""
    goes_alone: bool = False
    """Whether it needs a transaction of its own."""
    is_taken: bool = False
    """Whether a transaction with it is under way."""
    turn: Event = field(default_factory=Event)
    """Set when it is first in the queue, and when it is done."""
    report: Sequence[ReadLine] = ()
    """All that its sender reported at once, also where it is committed in parts; left out, ``lines``."""

    def __post_init__(self) -> None:
        self.report = self.report or self.lines

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to commit."""
        return not self.lines and not self.uncharged

    def committed(self, taken: IngestResult) -> None:
        """Note what a transaction took of it."""
        self.result.add(taken)
        self.lines = self.lines[taken.outcomes.total() :]
        self.uncharged = 0


Take = Callable[[], Sequence[Post]]
"""Returns the posts to commit now, the first in the queue first."""


class PostQueue:
    """The posts of this process that wait for the writer, in the order of their arrival.

    Only the first waits for the database. It commits those that came until it is its turn as well. Where that
    fails, each of them gets a transaction of its own, so that nobody is refused for another's lines.
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
