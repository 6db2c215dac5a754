"""Whose guess is checked first while many wait: networks that have not failed lately, few of each account."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from app.audit.models import AuditRecord
from app.console.sign_in import guess_queue
from app.console.sign_in.forms import queue
from app.console.sign_in.guess_queue import MOST_OF_ACCOUNT, MOST_OF_NETWORK
from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from tests.console.visitor import MovableClock, Visitor, add_account, email_of

VIEWER = email_of(Role.VIEWER)
GUESSER, STRANGER = "198.51.100.7", "203.0.113.5"
WAIT = "Try again in"
BUSY = "Too many sign-ins at the same time."


class Waiting:
    """Guesses that wait while another one is checked, in the order in which they came."""

    def __init__(self, app: Flask, pool: ThreadPoolExecutor) -> None:
        self._app, self._pool = app, pool
        self.answers: list[Future[TestResponse]] = []

    def add(self, address: str, email: str, **environ: Any) -> Future[TestResponse]:
        """A wrong guess; it waits when this returns, or has its answer."""
        visitor, before = Visitor(self._app, address), len(queue)
        visitor.environ |= environ
        answer = self._pool.submit(visitor.sign_in, email, "wrong password")
        until = time.monotonic() + 10
        while len(queue) == before and not answer.done():
            assert time.monotonic() < until
            time.sleep(0.001)
        self.answers.append(answer)
        return answer


@contextmanager
def waiting_guesses(app: Flask) -> Iterator[Waiting]:
    """All of them are checked after the block."""
    with ThreadPoolExecutor(40) as pool:
        waiting = Waiting(app, pool)
        with queue.turn("somebody", "192.0.2.200", failed=False):
            yield waiting
        for answer in waiting.answers:
            answer.result()
    assert not len(queue)


def checked(app: Flask) -> list[str]:
    """Where the wrong guesses came from, in the order in which they were checked."""
    failed = select(AuditRecord.address).where(AuditRecord.action == "sign_in.failed")
    with reading(part_of(app, Database).engine) as connection:
        return [address or "" for address in connection.scalars(failed.order_by(AuditRecord.id))]


def fail(app: Flask, addresses: Sequence[str]) -> None:
    for number, address in enumerate(addresses):
        Visitor(app, address).sign_in(f"before-{number}@example.org", "wrong password")


@pytest.mark.every_database
@pytest.mark.parametrize(
    ("failures", "address"),
    [
        ([GUESSER] * 2, GUESSER),
        (["2001:db8:1:2::1", "2001:db8:1:2::2"], "2001:db8:1:2::3"),
    ],
    ids=["IPv4", "IPv6 by /64"],
)
def test_network_without_failures_goes_first(app: Flask, failures: list[str], address: str) -> None:
    fail(app, failures)
    with waiting_guesses(app) as waiting:
        for number in range(3):
            waiting.add(address, f"{number}@example.org")
        waiting.add(STRANGER, "x@example.org")
    assert checked(app)[2:] == [STRANGER, *[address] * 3]


@pytest.mark.parametrize(
    ("failures", "minutes"),
    [([GUESSER], 0), ([GUESSER] * 2, 11), (["2001:db8:1:2::1", "2001:db8:1:3::1"], 0)],
    ids=["one failure", "more than ten minutes ago", "two networks"],
)
def test_network_is_new_unless_it_failed_twice(
    app: Flask, clock: MovableClock, failures: list[str], minutes: int
) -> None:
    fail(app, failures)
    clock.forward(minutes=minutes)
    with waiting_guesses(app) as waiting:
        waiting.add(failures[0], "0@example.org")
        waiting.add(STRANGER, "x@example.org")
    assert checked(app)[-2:] == [failures[0], STRANGER]


def test_failures_far_apart_do_not_add_up(app: Flask, clock: MovableClock) -> None:
    for _ in range(4):
        fail(app, [GUESSER])
        clock.forward(minutes=11)
    fail(app, [GUESSER])
    with waiting_guesses(app) as waiting:
        waiting.add(GUESSER, "0@example.org")
        waiting.add(STRANGER, "x@example.org")
    assert checked(app)[-2:] == [GUESSER, STRANGER]


def test_guessers_at_one_account_leave_room_for_others(app: Flask) -> None:
    """They come from a new network each time."""
    with waiting_guesses(app) as waiting:
        for number in range(MOST_OF_ACCOUNT + 8):
            waiting.add(f"198.51.100.{number}", "attacked@example.org")
        waiting.add(STRANGER, "x@example.org")
    assert checked(app).index(STRANGER) == MOST_OF_ACCOUNT


def test_guesses_of_one_network_leave_room_for_others(app: Flask) -> None:
    """It has not failed yet, and sends all at once."""
    with waiting_guesses(app) as waiting:
        for number in range(MOST_OF_NETWORK + 8):
            waiting.add(GUESSER, f"{number}@example.org")
        waiting.add(STRANGER, "x@example.org")
    assert checked(app).index(STRANGER) == MOST_OF_NETWORK


def test_full_queue_refuses_at_once(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guess_queue, "MOST", 3)
    fail(app, [GUESSER] * 2)
    with waiting_guesses(app) as waiting:
        for number in range(3):
            waiting.add(GUESSER, f"{number}@example.org")
        assert BUSY in waiting.add(GUESSER, "more@example.org").result(timeout=5).text
        waiting.add(STRANGER, "x@example.org")
    assert checked(app)[2:] == [STRANGER, *[GUESSER] * 3]


class Connection:
    """The server's, of which it knows whether the client has closed it."""

    def __init__(self) -> None:
        self.is_closed = False

    def has_left(self) -> bool:
        return self.is_closed


@pytest.mark.parametrize("seconds", [0.001, 60], ids=["while it waits", "when its turn comes"])
def test_guess_of_a_client_who_left_is_not_checked(
    app: Flask, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Nor counted. It has no place in the queue."""
    monkeypatch.setattr(guess_queue, "LOOK_SECONDS", seconds)
    connection = Connection()
    with waiting_guesses(app) as waiting:
        answer = waiting.add(GUESSER, VIEWER, **{"gunicorn.socket": connection})
        waiting.add(STRANGER, VIEWER)
        connection.is_closed = True
        if seconds < 1:
            assert BUSY in answer.result(timeout=5).text
            assert len(queue) == 1
    assert BUSY in answer.result().text
    assert checked(app) == [STRANGER]


def attack(app: Flask, clock: MovableClock) -> list[Visitor]:
    """Wrong guesses at the viewer, until the account waits for as long as it can: 10 seconds."""
    guessers = [Visitor(app, f"198.51.100.{number}") for number in range(60)]
    for number, guesser in enumerate(guessers):
        guesser.sign_in(VIEWER, "wrong password")
        clock.forward(seconds=10 if number > 50 else 0)
    guessers[0].sign_in(VIEWER, "wrong password")
    return guessers


@pytest.mark.every_database
def test_guessers_who_send_on_wait_longer_for_the_account(app: Flask, clock: MovableClock) -> None:
    """So somebody else has the next try, at the moment at which the account's wait ends."""
    add_account(app, Role.VIEWER)
    guessers = attack(app, clock)
    for _ in range(3):
        clock.forward(seconds=0.1)
        assert all(WAIT in guesser.sign_in(VIEWER, "wrong password").text for guesser in guessers)
    owner, before = Visitor(app, STRANGER), len(checked(app))
    assert "Try again in 10 seconds" in owner.sign_in(VIEWER).text
    clock.forward(seconds=10)
    assert all(WAIT in guesser.sign_in(VIEWER, "wrong password").text for guesser in guessers)
    owner.sign_in(VIEWER)
    assert owner.inside
    clock.forward(seconds=10)
    for guesser in guessers:
        guesser.sign_in(VIEWER, "wrong password")
    assert len(checked(app)) == before + 1, "the account's next try, for whoever comes first"


def test_who_waits_as_told_loses_no_precedence(app: Flask, clock: MovableClock) -> None:
    """Although other new networks have the account's next tries."""
    add_account(app, Role.VIEWER)
    attack(app, clock)
    owner = Visitor(app, STRANGER)
    for number in range(4):
        assert "Try again in 11 seconds" in owner.sign_in(VIEWER).text
        clock.forward(seconds=11)
        other = Visitor(app, f"198.51.100.{100 + number}")
        assert WAIT not in other.sign_in(VIEWER, "wrong password").text
    assert "Try again in 11 seconds" in owner.sign_in(VIEWER).text
    clock.forward(seconds=11)
    assert owner.sign_in(VIEWER).status_code == 302
