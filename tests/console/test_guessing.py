"""Guessing: many tries at once, from many addresses, and owners who come in all the same."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Barrier
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select
from werkzeug.test import TestResponse

from app.accounts.models import SignInFailure
from app.accounts.rules.roles import Role
from app.accounts.services.accounts import find_account, new_uniquifier, update_account
from app.accounts.services.throttle import Guess, MustWait, release, reserve
from app.audit.models import AuditRecord
from app.console.sign_in import forms, guess_queue
from app.console.sign_in.forms import queue
from app.console.sign_in.guess_queue import MOST_OF_ACCOUNT, MOST_OF_NETWORK
from app.db.database import Database
from app.db.engine import reading, writing
from app.http.application import part_of
from tests.actors import TESTER
from tests.applications import Audited, Editing, OpenApp, audited_of
from tests.builders.clock import MovableClock
from tests.console.second_factor import code_of, set_up
from tests.console.visitor import PASSWORD, Visitor, add_account, email_of, signed_in, visitor_of

VIEWER = email_of(Role.VIEWER)
CHECKED_WITHOUT_WAIT = 5
WAIT = "Try again in"


def at_once(tries: int, send: Callable[[int], TestResponse]) -> list[TestResponse]:
    """The responses to ``send(number)`` in as many threads, which all begin together."""
    barrier = Barrier(tries)

    def run(number: int) -> TestResponse:
        barrier.wait()
        return send(number)

    with ThreadPoolExecutor(tries) as pool:
        return list(pool.map(run, range(tries)))


def failures_recorded(database: Database) -> int:
    with reading(database.engine) as connection:
        return len(
            connection.scalars(select(AuditRecord.id).where(AuditRecord.action == "sign_in.failed")).all()
        )


@pytest.mark.every_database
def test_concurrent_guesses_are_limited(open_app: OpenApp, clock: MovableClock) -> None:
    """Of 24, five are validated."""
    workers = [open_app(), open_app()]  # two processes have two applications
    add_account(workers[0], Role.VIEWER)
    visitors = [Visitor(workers[number % 2], "192.0.2.66") for number in range(24)]
    tokens = [visitor.token() for visitor in visitors]

    def guess(number: int) -> TestResponse:
        fields = {"csrf_token": tokens[number], "email": VIEWER, "password": f"wrong password {number}"}
        return visitors[number].post("/admin/sign-in", fields)

    answers = at_once(24, guess)
    assert {answer.status_code for answer in answers} == {200}
    assert sum(WAIT not in answer.text for answer in answers) == CHECKED_WITHOUT_WAIT
    assert failures_recorded(part_of(workers[0], Database)) == CHECKED_WITHOUT_WAIT
    clock.forward(seconds=2.1)
    assert sum(WAIT not in answer.text for answer in at_once(8, guess)) == 1, "after each wait one more"


def test_concurrent_codes_are_limited(app: Flask, database: Database) -> None:
    """Of 16, five are validated."""
    secret = set_up(signed_in(app, Role.VIEWER))
    visitors = [Visitor(app, "192.0.2.66") for _ in range(16)]
    for visitor in visitors:
        assert visitor.sign_in(VIEWER).status_code == 302, "the right password is not counted"
    tokens = [visitor.token() for visitor in visitors]
    right = code_of(secret)
    wrong = [f"{number:06}" for number in range(17) if f"{number:06}" != right]

    def guess(number: int) -> TestResponse:
        fields = {"csrf_token": tokens[number], "code": wrong[number]}
        return visitors[number].post("/admin/sign-in/code", fields)

    answers = at_once(16, guess)
    assert sum(WAIT not in answer.text for answer in answers) == CHECKED_WITHOUT_WAIT
    assert failures_recorded(database) == CHECKED_WITHOUT_WAIT


@pytest.mark.every_database
def test_concurrent_guesses_count_only_failures(database: Database, audited: Audited) -> None:
    """Right tries and wrong ones of many threads: as many failures are counted as there were wrong ones."""
    guess = Guess("x@example.org", "192.0.2.1")

    def attempt(number: int) -> bool:
        try:
            made = reserve(*audited, guess)
        except MustWait:
            return False
        release(database, made)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert any(pool.map(attempt, range(40)))
    with reading(database.engine) as connection:
        assert not connection.execute(select(SignInFailure.key)).all()


@pytest.mark.every_database
def test_successful_sign_in_leaves_wait_of_network(
    clock: MovableClock, database: Database, audited: Audited
) -> None:
    for number in range(20):
        reserve(*audited, Guess(f"{number}@example.org", "192.0.2.1"))
    clock.forward(minutes=5)
    release(database, reserve(*audited, Guess("owner@example.org", "192.0.2.1")))
    with reading(database.engine) as connection:
        left = connection.execute(
            select(SignInFailure.failures, SignInFailure.last_at).where(
                SignInFailure.key == "address:192.0.2.1"
            )
        ).one()
    assert tuple(left) == (20, clock.now.replace(minute=0))


@contextmanager
def feed_holds_the_lock(database: Database) -> Iterator[None]:
    with writing(database.engine):
        yield


@pytest.mark.postgresql_alone
def test_guesses_count_while_the_feed_writes(database: Database, audited: Audited) -> None:
    """SQLite has one lock for all who write (docs/decisions/0013-counted-before-validated.md)."""
    with feed_holds_the_lock(database), ThreadPoolExecutor(1) as pool:
        for _ in range(CHECKED_WITHOUT_WAIT):
            pool.submit(reserve, *audited, Guess("x", "192.0.2.1")).result(timeout=5)
        with pytest.raises(MustWait):
            pool.submit(reserve, *audited, Guess("x", "192.0.2.1")).result(timeout=5)


@pytest.mark.parametrize(
    ("addresses", "validated"),
    [
        ([f"2001:db8:1:2::{number:x}" for number in range(12)], CHECKED_WITHOUT_WAIT),
        ([f"2001:db8:1:{number:x}::1" for number in range(12)], 12),
        (["192.0.2.1", "::ffff:192.0.2.1"] * 6, CHECKED_WITHOUT_WAIT),
        (["::ffff:192.0.2.1", "::ffff:192.0.2.2"], 2),
    ],
)
def test_guesses_of_ipv6_network_count_together(app: Flask, addresses: list[str], validated: int) -> None:
    add_account(app, Role.VIEWER)
    answers = [Visitor(app, address).sign_in(VIEWER, "wrong password").text for address in addresses]
    assert sum(WAIT not in answer for answer in answers) == validated


def besiege(app: Flask, email: str = VIEWER) -> None:
    """Wrong passwords, each from another address, until the account itself has to wait."""
    account = find_account(part_of(app, Database), email=email)
    with pytest.raises(MustWait):
        for number in range(100):
            reserve(*audited_of(app), Guess(email, f"198.51.100.{number}", account))
    assert WAIT in Visitor(app, "203.0.113.9").sign_in(email).text


def test_owner_signs_in_during_attack(app: Flask, clock: MovableClock, viewer: Visitor) -> None:
    """Ten guesses a second, while the account has to wait. Every two seconds the owner signs in, from
    changing addresses.
    """
    viewer.post("/admin/sign-out")
    besiege(app)
    attackers = [Visitor(app, f"198.51.100.{number}") for number in range(100)]
    tokens = [attacker.token() for attacker in attackers]
    entered = validated = 0
    for number in range(100):
        one = number % len(attackers)
        fields = {"csrf_token": tokens[one], "email": VIEWER, "password": "wrong password"}
        validated += WAIT not in attackers[one].post("/admin/sign-in", fields).text
        clock.forward(seconds=0.1)
        if number % 20 == 19:
            viewer.environ = {"REMOTE_ADDR": f"198.51.100.{number % 7}"}
            viewer.sign_in(VIEWER)
            entered += viewer.inside
            viewer.post("/admin/sign-out")
    assert entered == 5, "each time"
    assert validated < 10, "the account as a whole waits"


def test_known_browser_waits_separately(app: Flask, clock: MovableClock, viewer: Visitor) -> None:
    viewer.post("/admin/sign-out")
    answers = [viewer.sign_in(VIEWER, "wrong password").text for _ in range(8)]
    assert sum(WAIT not in answer for answer in answers) == CHECKED_WITHOUT_WAIT
    assert WAIT in viewer.sign_in(VIEWER).text
    stranger = visitor_of(app, VIEWER)
    assert stranger.inside, "from the same address, but it is not the browser that guessed"
    clock.forward(seconds=3)
    viewer.sign_in(VIEWER)
    assert viewer.inside


def device_of(visitor: Visitor, account: int) -> str:
    cookie = visitor.client.get_cookie(f"console_device_{account}", path="/admin")
    assert cookie
    assert cookie.http_only
    assert cookie.same_site == "Strict"
    return cookie.value


def test_browser_proof_is_bound_and_ends(
    app: Flask, clock: MovableClock, database: Database, editing: Editing, viewer: Visitor
) -> None:
    """It is signed for one account."""
    account = find_account(database, email=VIEWER)
    assert account
    other = add_account(app, Role.OPERATOR)
    proof = device_of(viewer, account.id)

    def comes_in(value: str, email: str = VIEWER, number: int = account.id) -> bool:
        visitor = Visitor(app, "203.0.113.9")
        visitor.client.set_cookie(f"console_device_{number}", value, path="/admin")
        visitor.sign_in(email)
        return visitor.inside

    besiege(app)
    assert comes_in(proof)
    name, at, seal = proof.split(".")
    forged = (
        f"{'0' * 32}.{at}.{seal}",
        f"{name}.{int(at) + 1}.{seal}",
        f"{name}.{at}.{'0' * 64}",
        "",
        "x" * 4000,
    )
    assert not any(map(comes_in, forged))
    besiege(app, email_of(Role.OPERATOR))
    assert not comes_in(proof, email_of(Role.OPERATOR), other)
    clock.forward(days=181)
    besiege(app)
    assert not comes_in(proof), "half a year is long enough"
    viewer = Visitor(app)
    clock.forward(minutes=61)
    viewer.sign_in(VIEWER)
    fresh = device_of(viewer, account.id)
    besiege(app)
    assert comes_in(fresh)
    update_account(*editing, account.id, {"fs_uniquifier": new_uniquifier()}, actor=TESTER)
    assert not comes_in(fresh), "signing out everywhere ends it, too"


def test_known_browser_bypasses_guess_queue(
    app: Flask, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    """Strangers wait for a place. They see the same, whether or not the account exists."""
    owner, inside = signed_in(app, Role.VIEWER), Visitor(app)
    inside.sign_in(VIEWER)
    owner.post("/admin/sign-out")
    monkeypatch.setattr(guess_queue, "WAIT_SECONDS", 0.01)
    with forms.queue.turn("somebody", "198.51.100.1", failed=False):
        shown_text = [
            re.search(r"Too many [^<]*", Visitor(app, "192.0.2.66").sign_in(email).text)
            for email in (VIEWER, "nobody@example.org")
        ]
        assert [found and found[0] for found in shown_text] == [
            "Too many sign-ins at the same time. Try again in 6 seconds."
        ] * 2
        json = Visitor(app).client.post("/admin/sign-in", data="[]", content_type="application/json")
        assert json.status_code == 429
        assert owner.sign_in(VIEWER).status_code == 302
        new = "Wickelrock 47 Zaunkoenig"
        fields = {"password": PASSWORD, "new_password": new, "new_password_confirm": new}
        assert inside.post("/admin/account/password", fields).status_code == 302
    assert not failures_recorded(database), "what was not looked at is not counted"
    assert Visitor(app, "192.0.2.66").sign_in(VIEWER, new).status_code == 302


def test_what_cannot_be_right_counts(app: Flask) -> None:
    add_account(app, Role.VIEWER)
    visitor = Visitor(app)
    for password in ("x" * 257, "x" * 5000, "\ufdfa" * 256, "x" * 60_000, ""):
        answer = visitor.sign_in(VIEWER, password)
        assert answer.status_code == 200
        assert WAIT not in answer.text
    assert WAIT in visitor.sign_in(VIEWER).text


def test_json_bodies_count_as_guesses(app: Flask) -> None:
    visitor = Visitor(app)
    answers = [
        visitor.client.post("/admin/sign-in", data="[]", content_type="application/json") for _ in range(7)
    ]
    assert [answer.status_code for answer in answers] == [415] * 5 + [429] * 2
    assert WAIT in answers[-1].text
    assert answers[-1].headers["Retry-After"] == "3"
    for number in range(16):
        visitor.sign_in(f"somebody{number}@example.org", PASSWORD)
    assert WAIT in visitor.sign_in(VIEWER).text, "they count for the address as well"


@pytest.mark.every_database
def test_wait_ends_after_clock_is_set_back(app: Flask, clock: MovableClock) -> None:
    """After it was corrected nobody waits for more than a guesser would."""
    add_account(app, Role.VIEWER)
    visitor = Visitor(app, "192.0.2.66")
    clock.forward(days=1)
    for _ in range(CHECKED_WITHOUT_WAIT):
        assert WAIT not in visitor.sign_in(VIEWER, "wrong password").text
    clock.forward(days=-1)
    assert "Try again in 3 seconds" in visitor.sign_in(VIEWER).text
    clock.forward(seconds=2.1)
    assert visitor.sign_in(VIEWER).status_code == 302


GUESSER, STRANGER = "198.51.100.7", "203.0.113.5"
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
    [([GUESSER] * 2, GUESSER), (["2001:db8:1:2::1", "2001:db8:1:2::2"], "2001:db8:1:2::3")],
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
def test_network_counts_as_new_until_second_failure(
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


def test_guesses_at_one_account_are_limited(app: Flask) -> None:
    """They come from a new network each time."""
    with waiting_guesses(app) as waiting:
        for number in range(MOST_OF_ACCOUNT + 8):
            waiting.add(f"198.51.100.{number}", "attacked@example.org")
        waiting.add(STRANGER, "x@example.org")
    assert checked(app).index(STRANGER) == MOST_OF_ACCOUNT


def test_guesses_of_one_network_are_limited(app: Flask) -> None:
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
def test_queue_drops_guess_of_closed_connection(
    app: Flask, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """The guess is neither checked nor counted, and leaves the queue."""
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
    """Ten guessers, after wrong guesses until the account waits for as long as it can: 10 seconds."""
    account = find_account(part_of(app, Database), email=VIEWER)
    for number in range(60):
        with suppress(MustWait):
            reserve(*audited_of(app), Guess(VIEWER, f"198.51.100.{number}", account))
        clock.forward(seconds=10 if number > 50 else 0)
    guessers = [Visitor(app, f"198.51.100.{number}") for number in range(50, 60)]
    guessers[0].sign_in(VIEWER, "wrong password")
    return guessers


@pytest.mark.every_database
def test_impatient_guessers_wait_longer(app: Flask, clock: MovableClock) -> None:
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
    assert len(checked(app)) == before + 1, "the account's next try, for the first caller"


def test_waiting_caller_keeps_precedence(app: Flask, clock: MovableClock) -> None:
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
