"""Guessing: many tries at once, from many addresses, and owners who come in all the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

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
from app.db.database import Database
from app.db.engine import reading, writing
from app.http.application import part_of
from tests.actors import TESTER
from tests.applications import Audited, Editing, OpenApp
from tests.console.second_factor import code_of, set_up
from tests.console.visitor import (
    PASSWORD,
    MovableClock,
    Visitor,
    add_account,
    email_of,
    signed_in,
)

VIEWER = email_of(Role.VIEWER)
JUDGED_WITHOUT_A_WAIT = 5
WAIT = "Try again in"


def at_once(tries: int, ask: Callable[[int], TestResponse]) -> list[TestResponse]:
    """What ``ask(number)`` is answered in as many threads, which all begin together."""
    barrier = Barrier(tries)

    def run(number: int) -> TestResponse:
        barrier.wait()
        return ask(number)

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
    assert sum(WAIT not in answer.text for answer in answers) == JUDGED_WITHOUT_A_WAIT
    assert failures_recorded(part_of(workers[0], Database)) == JUDGED_WITHOUT_A_WAIT
    clock.forward(seconds=2.1)
    assert sum(WAIT not in answer.text for answer in at_once(8, guess)) == 1, "after each wait one more"


@pytest.mark.every_database
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
    assert sum(WAIT not in answer.text for answer in answers) == JUDGED_WITHOUT_A_WAIT
    assert failures_recorded(database) == JUDGED_WITHOUT_A_WAIT


@pytest.mark.every_database
def test_concurrent_tries_leave_nothing_behind(database: Database, audited: Audited) -> None:
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
def test_success_does_not_lengthen_others_wait(
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
def test_guesses_are_counted_while_the_feed_writes(database: Database, audited: Audited) -> None:
    """SQLite has one lock for all who write (docs/decisions/0013-counted-before-validated.md)."""
    with feed_holds_the_lock(database), ThreadPoolExecutor(1) as pool:
        for _ in range(JUDGED_WITHOUT_A_WAIT):
            pool.submit(reserve, *audited, Guess("x", "192.0.2.1")).result(timeout=5)
        with pytest.raises(MustWait):
            pool.submit(reserve, *audited, Guess("x", "192.0.2.1")).result(timeout=5)


@pytest.mark.parametrize(
    ("addresses", "judged"),
    [
        ([f"2001:db8:1:2::{number:x}" for number in range(12)], JUDGED_WITHOUT_A_WAIT),
        ([f"2001:db8:1:{number:x}::1" for number in range(12)], 12),
        (["192.0.2.1", "::ffff:192.0.2.1"] * 6, JUDGED_WITHOUT_A_WAIT),
        (["::ffff:192.0.2.1", "::ffff:192.0.2.2"], 2),
    ],
)
def test_an_ipv6_network_is_one_guesser(app: Flask, addresses: list[str], judged: int) -> None:
    add_account(app, Role.VIEWER)
    answers = [Visitor(app, address).sign_in(VIEWER, "wrong password").text for address in addresses]
    assert sum(WAIT not in answer for answer in answers) == judged


def besiege(app: Flask, guesses: int = 60) -> None:
    """Wrong passwords for the viewer, each from another address, until the account itself has to wait."""
    for number in range(guesses):
        Visitor(app, f"198.51.100.{number}").sign_in(VIEWER, "wrong password")
    assert WAIT in Visitor(app, "203.0.113.9").sign_in(VIEWER).text


@pytest.mark.slow
def test_owner_signs_in_during_attack(app: Flask, clock: MovableClock) -> None:
    """Ten guesses a second for a minute. Every two seconds the owner signs in, from changing addresses."""
    owner = signed_in(app, Role.VIEWER)
    owner.post("/admin/sign-out")
    attackers = [Visitor(app, f"198.51.100.{number}") for number in range(100)]
    tokens = [attacker.token() for attacker in attackers]
    entered = judged = 0
    for number in range(300):
        one = number % len(attackers)
        fields = {"csrf_token": tokens[one], "email": VIEWER, "password": "wrong password"}
        judged += WAIT not in attackers[one].post("/admin/sign-in", fields).text
        clock.forward(seconds=0.1)
        if number % 20 == 19:
            owner.environ = {"REMOTE_ADDR": f"198.51.100.{number % 7}"}
            owner.sign_in(VIEWER)
            entered += owner.inside
            owner.post("/admin/sign-out")
    assert entered == 15, "each time"
    assert judged < 60, "the account as a whole waits"


def test_known_browser_waits_separately(app: Flask, clock: MovableClock) -> None:
    owner = signed_in(app, Role.VIEWER)
    owner.post("/admin/sign-out")
    answers = [owner.sign_in(VIEWER, "wrong password").text for _ in range(8)]
    assert sum(WAIT not in answer for answer in answers) == JUDGED_WITHOUT_A_WAIT
    assert WAIT in owner.sign_in(VIEWER).text
    stranger = Visitor(app)
    stranger.sign_in(VIEWER)
    assert stranger.inside, "from the same address, but it is not the browser that guessed"
    clock.forward(seconds=3)
    owner.sign_in(VIEWER)
    assert owner.inside


def device_of(visitor: Visitor, account: int) -> str:
    cookie = visitor.client.get_cookie(f"console_device_{account}", path="/admin")
    assert cookie
    assert cookie.http_only
    assert cookie.same_site == "Strict"
    return cookie.value


@pytest.mark.slow
def test_browser_proof_is_bound_and_ends(
    app: Flask, clock: MovableClock, database: Database, editing: Editing
) -> None:
    """It is signed for one account."""
    owner = signed_in(app, Role.VIEWER)
    account = find_account(database, email=VIEWER)
    assert account
    other = add_account(app, Role.OPERATOR)
    proof = device_of(owner, account.id)

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
    for number in range(60):
        Visitor(app, f"198.51.100.{number}").sign_in(email_of(Role.OPERATOR), "wrong password")
    assert not comes_in(proof, email_of(Role.OPERATOR), other)
    clock.forward(days=181)
    besiege(app)
    assert not comes_in(proof), "half a year is long enough"
    owner = Visitor(app)
    clock.forward(minutes=61)
    owner.sign_in(VIEWER)
    fresh = device_of(owner, account.id)
    besiege(app)
    assert comes_in(fresh)
    update_account(*editing, account.id, {"fs_uniquifier": new_uniquifier()}, actor=TESTER)
    assert not comes_in(fresh), "signing out everywhere ends it, too"


def test_whom_the_gateway_knows_needs_no_place(
    app: Flask, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    """While strangers wait for theirs. They are told the same, whether or not there is the account."""
    owner, inside = signed_in(app, Role.VIEWER), Visitor(app)
    inside.sign_in(VIEWER)
    owner.post("/admin/sign-out")
    monkeypatch.setattr(guess_queue, "WAIT_SECONDS", 0.01)
    with forms.queue.turn("somebody", "198.51.100.1", failed=False):
        said = [
            re.search(r"Too many [^<]*", Visitor(app, "192.0.2.66").sign_in(email).text)
            for email in (VIEWER, "nobody@example.org")
        ]
        assert [found and found[0] for found in said] == [
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


def test_bodies_that_are_no_form_count(app: Flask) -> None:
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
def test_clock_set_back_locks_nobody_out(app: Flask, clock: MovableClock) -> None:
    """After it was corrected nobody waits for more than a guesser would."""
    add_account(app, Role.VIEWER)
    visitor = Visitor(app, "192.0.2.66")
    clock.forward(days=1)
    for _ in range(JUDGED_WITHOUT_A_WAIT):
        assert WAIT not in visitor.sign_in(VIEWER, "wrong password").text
    clock.forward(days=-1)
    assert "Try again in 3 seconds" in visitor.sign_in(VIEWER).text
    clock.forward(seconds=2.1)
    assert visitor.sign_in(VIEWER).status_code == 302
