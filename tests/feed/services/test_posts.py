"""Posts that wait for the writer are committed together, and come to what each by itself comes to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, select
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.lines import ReadLine, read_line
from app.feed.models import JournalRow
from app.feed.projection.journal import Published
from app.feed.services.ingest import (
    IngestResult,
    Intake,
    Post,
    PostQueue,
    Sender,
    Take,
    Terms,
    commit_posts,
    ingest_lines,
)
from app.http.application import part_of
from app.refunds.models import SignatureAside
from app.transfers.models import Event
from app.values.errors import Unauthorized
from tests.amounts import costly
from tests.applications import change_part
from tests.builders.clock import MovableClock
from tests.feed.services.any_order import EVERYTHING, REORGS, Events
from tests.feed.services.everything import everything
from tests.feed.services.histories import EVENTS, REPORTERS
from tests.feed.services.world import (
    NOW,
    about,
    feed,
    forget_events,
    released,
    sent,
)
from tests.steps import statements

Reported = tuple[str, Events]
"""A post: its reporter and its events."""

SECONDS = 20.0

pytestmark = pytest.mark.every_database


def read_posts(reported: Sequence[Reported]) -> list[Post]:
    return [Post(Sender(name, REPORTERS[name]), read(events)) for name, events in reported]


def read(events: Events) -> list[ReadLine]:
    lines = [read_line(n, json.dumps(each).encode(), NOW) for n, each in enumerate(events, start=1)]
    return [line for line in lines if isinstance(line, ReadLine)]


def outcome(result: IngestResult) -> tuple[Any, ...]:
    return dict(result.outcomes), [(each.line, each.id, each.reason) for each in result.refused]


def together(app: Flask, posts: Sequence[Post]) -> None:
    while left := [post for post in posts if not post.is_done]:
        commit_posts(part_of(app, Database), part_of(app, Intake), lambda left=left: left)  # type: ignore[misc]


def state(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    found = everything(database)
    with reading(database.engine) as connection:
        for model in (Event, JournalRow, SignatureAside):
            found[model.__tablename__] = sorted(
                map(tuple, connection.execute(select(model.__table__))), key=repr
            )
    return found


STORIES: Events = [*EVERYTHING, *REORGS, *EVENTS]


@st.composite
def posts_of_reporters(draw: st.DrawFn) -> list[Reported]:
    """Small posts by several, some with the same events, as if some had been reported before."""
    some = draw(st.lists(st.sampled_from(STORIES), min_size=1, max_size=30))
    events = st.lists(st.sampled_from(some), min_size=1, max_size=6)
    return draw(st.lists(st.tuples(st.sampled_from(sorted(REPORTERS)), events), min_size=1, max_size=12))


@costly
@given(data=st.data())
def test_grouped_posts_equal_single_posts(app: Flask, data: st.DataObject) -> None:
    change_part(app, Database, clock=MovableClock(NOW))
    change_part(app, Intake, max_reorg_blocks=data.draw(st.sampled_from((40, 1_000))))
    database = part_of(app, Database)
    reported = data.draw(posts_of_reporters())
    groups = data.draw(st.lists(st.integers(0, 3), min_size=len(reported), max_size=len(reported)))
    forget_events(app)
    one_by_one, grouped = read_posts(reported), read_posts(reported)
    for post in one_by_one:
        together(app, [post])
    apart = state(database)
    forget_events(app)
    for _, group in groupby(zip(sorted(groups), grouped, strict=True), key=lambda pair: pair[0]):
        together(app, [post for _, post in group])
    assert [outcome(post.result) for post in grouped] == [outcome(post.result) for post in one_by_one]
    for name, rows in state(database).items():
        assert rows == apart[name], name


def test_each_post_publishes_its_change(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[int] = []

    def note(_connection: Connection, changes: Sequence[Published], _now: datetime) -> None:
        published.extend(int(each.change.status) for each in changes)

    monkeypatch.setattr("app.feed.projection.transfers.STATUSES_CHANGED", note)
    together(app, read_posts([("a", [sent(1)]), ("b", [about(1, "transfer.confirmed")])]))
    assert published == [1, 3]


def test_grouped_posts_share_statements(app: Flask, database: Database) -> None:
    def posts(first: int) -> list[Post]:
        lines = [[sent(n), about(n, "transfer.confirmed"), released(n)] for n in range(first, first + 8)]
        return read_posts([(name, events) for name, events in zip("abababab", lines, strict=True)])

    together(app, posts(1))
    with statements(database.feed) as of_one:
        together(app, posts(11)[:1])
    with statements(database.feed) as of_eight:
        together(app, many := posts(21))
    assert [post.result.accepted for post in many] == [3] * 8
    assert 0 < len(of_eight) == len(of_one) < 35


@contextmanager
def hold_writer(database: Database) -> Iterator[None]:
    """Until the block ends, nobody else writes."""
    with writing(database.engine):
        yield


def posting(app: Flask, posts: Sequence[Reported], terms: Callable[[int], Terms]) -> list[Any]:
    """Post all while the writer is busy; what each got, or the error."""
    outcomes: list[Any] = [None] * len(posts)

    def post(number: int) -> None:
        reporter, events = posts[number]
        try:
            lines = [json.dumps(each).encode() for each in events]
            outcomes[number] = ingest_lines(
                part_of(app, Database), part_of(app, Intake), lines, reporter, terms=terms(number)
            ).accepted
        except Exception as error:
            outcomes[number] = type(error)

    threads = []
    with hold_writer(part_of(app, Database)):
        for number in range(len(posts)):
            threads.append(threading.Thread(target=post, args=(number,)))
            threads[-1].start()
            while len(part_of(app, Intake).queue._posts) <= number:
                assert threads[-1].is_alive()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
    return outcomes


def refusing(_connection: Connection, _lines: int = 0) -> None:
    raise Unauthorized("revoked")


def breaking(connection: Connection, _lines: int) -> None:
    connection.exec_driver_sql("SELECT 1 FROM no_such_table")


@pytest.mark.parametrize(
    "bad",
    [Terms(admit=refusing), Terms(charge=refusing), Terms(charge=breaking), Terms(refusing, refusing, 10)],
)
def test_error_affects_one_post_only(app: Flask, database: Database, intake: Intake, bad: Terms) -> None:
    posts = [("a", [sent(n), sent(n + 10)]) for n in range(4)]
    outcomes = posting(app, posts, lambda number: bad if number == 2 else Terms())
    assert outcomes[:2] + outcomes[3:] == [2, 2, 2]
    assert isinstance(outcomes[2], type) and issubclass(outcomes[2], Exception)
    with reading(database.engine) as connection:
        assert len(connection.scalars(select(Event.seq)).all()) == 6
    assert not intake.queue._posts
    assert feed(app, sent(2)).accepted == 1


def test_waiting_posts_are_one_transaction(app: Flask) -> None:
    admitted: list[int] = []
    terms = lambda number: Terms(admit=lambda connection: admitted.append(id(connection)))  # noqa: E731
    assert posting(app, [("a", [sent(n)]) for n in range(6)], terms) == [1] * 6
    assert len(admitted) == 6
    assert len(set(admitted)) == 1


class TestQueue:
    """Who commits what, without a database."""

    def post(self, lines: int = 1, **fields: Any) -> Post:
        return Post(Sender("a"), read([sent(n) for n in range(lines)]), **fields)

    def all_of(self, taken: list[list[Post]]) -> Callable[[Take], None]:
        def work(take: Take) -> None:
            taken.append(list(take()))
            for post in taken[-1]:
                post.lines = ()
                post.uncharged = 0

        return work

    def waiting(self, queue: PostQueue, posts: Sequence[Post], most: int) -> list[list[Post]]:
        """Commit the posts, all but the first while that is under way. Returns the groups that were taken."""
        taken: list[list[Post]] = []
        under_way, go_on = threading.Event(), threading.Event()

        def first(take: Take) -> None:
            self.all_of(taken)(take)
            under_way.set()
            assert go_on.wait(SECONDS)

        works = [first, *[self.all_of(taken)] * (len(posts) - 1)]
        threads = []
        for number, (post, work) in enumerate(zip(posts, works, strict=True)):
            run = lambda post=post, work=work: queue.commit(post, work, most=most, seconds=SECONDS)  # noqa: E731
            threads.append(threading.Thread(target=run))
            threads[-1].start()
            assert under_way.wait(SECONDS)
            while len(queue._posts) <= number:
                assert threads[-1].is_alive()
        go_on.set()
        for thread in threads:
            thread.join(SECONDS)
            assert not thread.is_alive()
        return taken

    @pytest.mark.parametrize(
        ("sizes", "alone", "groups"),
        [
            pytest.param([1] * 5, None, [1, 4], id="all that wait are taken at once"),
            pytest.param([1, 4, 4, 4, 9, 1], None, [1, 2, 1, 1, 1], id="a transaction has so many lines"),
            pytest.param([1] * 5, 2, [1, 1, 1, 2], id="a post that goes alone ends the group"),
        ],
    )
    def test_waiting_posts_are_grouped(self, sizes: list[int], alone: int | None, groups: list[int]) -> None:
        queue = PostQueue()
        posts = [self.post(lines, goes_alone=n == alone) for n, lines in enumerate(sizes)]
        taken = self.waiting(queue, posts, most=8)
        assert [len(group) for group in taken] == groups
        assert [post for group in taken for post in group] == posts

    @pytest.mark.parametrize("alone", [False, True])
    def test_long_post_continues_at_the_end(self, alone: bool) -> None:
        queue, long, short = PostQueue(), self.post(2, goes_alone=alone), self.post()
        taken: list[list[Post]] = []
        other = threading.Thread(
            target=lambda: queue.commit(short, self.all_of(taken), most=1, seconds=SECONDS)
        )

        def one_line(take: Take) -> None:
            taken.append(list(take()))
            long.lines = long.lines[1:]
            if not other.ident:
                other.start()
                while len(queue._posts) < 2:
                    assert other.is_alive()

        queue.commit(long, one_line, most=1, seconds=SECONDS)
        other.join(SECONDS)
        assert taken == [[long], [short], [long]]

    def test_late_post_is_not_committed(self) -> None:
        queue, late = PostQueue(), self.post()
        taken: list[list[Post]] = []

        def slow(take: Take) -> None:
            with pytest.raises(PoolTimeout):
                queue.commit(late, self.all_of(taken), most=9, seconds=0.01)
            self.all_of(taken)(take)

        first = self.post()
        queue.commit(first, slow, most=9, seconds=SECONDS)
        assert taken == [[first]]
        assert not queue._posts
