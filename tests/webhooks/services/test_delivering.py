"""Which deliveries senders take, and how these end."""

import json
from datetime import timedelta

import pytest
from flask import Flask

from app.audit.keys import AuditKeys
from app.db.database import Database
from app.webhooks.rules.schedule import DELAYS, RETENTION
from app.webhooks.rules.subscription import DeliveryState, State, secret_text
from app.webhooks.services import delivering
from app.webhooks.services.delivering import CLAIM, Due, Outcome, bring_back, clean_up, replay, take
from app.webhooks.services.subscriptions import rotate, send_test, switch
from tests.actors import TESTER
from tests.applications import Audited, change_part
from tests.builders.clock import MovableClock
from tests.feed.services.world import NOW, feed, sent
from tests.webhooks.services.hooks import (
    Plenty,
    deliveries,
    subscription_of,
    to_everything,
    to_subjects,
)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOW)


@pytest.fixture
def app(app: Flask, clock: MovableClock) -> Flask:
    """With a clock that can be moved."""
    change_part(app, Database, clock=clock)
    return app


def ended(database: Database, due: Due, status: int | None, retry_after: timedelta | None = None) -> None:
    bring_back(
        database,
        [Outcome(due, database.clock(), 12, status, "" if status == 200 else "no", retry_after)],
    )


def test_taken_delivery_is_claimed_meanwhile(app: Flask, audited: Audited, clock: MovableClock) -> None:
    to_everything(app)
    feed(app, sent(1), sent(2))
    first = take(*audited, Plenty())
    assert [json.loads(due.body)["data"]["seq"] for due in first] == [1, 2]
    assert take(*audited, Plenty()) == []
    clock.forward(CLAIM)
    again = take(*audited, Plenty())
    assert [due.message_id for due in again] == [due.message_id for due in first]


def test_clock_set_back_delays_nothing(
    app: Flask, database: Database, audited: Audited, clock: MovableClock
) -> None:
    """Neither what was written by it, nor what is tried again, nor a receiver that requested a pause."""
    to_everything(app)
    clock.forward(timedelta(days=40))
    feed(app, sent(1))
    (due,) = take(*audited, Plenty())
    ended(database, due, 503, retry_after=timedelta(hours=1))
    feed(app, sent(2))
    clock.forward(-timedelta(days=40))
    assert take(*audited, Plenty()) == []
    clean_up(database)
    assert len(take(*audited, Plenty())) == 2


def test_longest_wait_continues(
    app: Flask, database: Database, audited: Audited, clock: MovableClock
) -> None:
    """What waits as long as it may goes on waiting."""
    to_everything(app)
    feed(app, sent(1))
    (due,) = take(*audited, Plenty())
    clean_up(database)
    assert take(*audited, Plenty()) == []
    ended(database, due, 503, retry_after=timedelta(hours=24))
    clean_up(database)
    clock.forward(timedelta(hours=24) - timedelta(seconds=1))
    assert take(*audited, Plenty()) == []
    clock.forward(timedelta(seconds=1))
    assert len(take(*audited, Plenty())) == 1


def test_late_sender_notes_nothing(
    app: Flask, database: Database, audited: Audited, clock: MovableClock
) -> None:
    to_everything(app)
    feed(app, sent(1))
    (slow,) = take(*audited, Plenty())
    clock.forward(CLAIM)
    (other,) = take(*audited, Plenty())
    ended(database, slow, None)
    (row,) = deliveries(database)
    assert (row.attempts, row.tries) == (0, None)
    ended(database, other, 200)
    (row,) = deliveries(database)
    assert (row.state, row.next_at, row.attempts) == (DeliveryState.DELIVERED, None, 1)


def test_only_available_room_is_taken(app: Flask, audited: Audited) -> None:
    to_everything(app)
    to_everything(app)
    to_everything(app, "https://other.example/")
    feed(app, *(sent(n) for n in range(1, 11)))
    room = Plenty(3)
    taken = take(*audited, room)
    assert sorted(due.place for due in taken) == ["hooks.example:443"] * 3 + ["other.example:443"] * 3
    assert take(*audited, room) == []


def test_failed_delivery_is_retried_then_dropped(
    app: Flask, database: Database, audited: Audited, clock: MovableClock
) -> None:
    to_everything(app)
    feed(app, sent(1))
    ids = set()
    for attempt in range(1, len(DELAYS) + 1):
        (due,) = take(*audited, Plenty())
        ids.add(due.message_id)
        ended(database, due, 500)
        (row,) = deliveries(database)
        if attempt < len(DELAYS):
            wait = row.next_at - clock.now
            assert DELAYS[attempt] <= wait <= DELAYS[attempt] * 1.2
            clock.forward(wait - timedelta(milliseconds=1))
            assert take(*audited, Plenty()) == []
            clock.forward(timedelta(milliseconds=1))
    (row,) = deliveries(database)
    assert (row.state, row.next_at, row.attempts) == (DeliveryState.FAILED, None, 10)
    assert len(json.loads(row.tries)) == 10
    assert len(ids) == 1


def test_delivery_pauses_as_receiver_requests(
    app: Flask, database: Database, audited: Audited, clock: MovableClock
) -> None:
    made = to_everything(app)
    feed(app, sent(1))
    (due,) = take(*audited, Plenty())
    ended(database, due, 429, timedelta(minutes=20))
    feed(app, sent(2))
    clock.forward(timedelta(minutes=19))
    assert take(*audited, Plenty()) == []
    clock.forward(timedelta(minutes=1))
    assert len(take(*audited, Plenty())) == 2
    assert subscription_of(database, made).quiet_until is not None


def test_410_switches_the_subscription_off(
    app: Flask, database: Database, audited: Audited, clock: MovableClock
) -> None:
    made = to_everything(app)
    feed(app, sent(1), sent(2))
    one, _two = take(*audited, Plenty())
    ended(database, one, 410)
    row = subscription_of(database, made)
    assert (row.state, "410" in row.state_reason) == (State.OFF, True)
    feed(app, sent(3))
    clock.forward(CLAIM)
    assert take(*audited, Plenty()) == []
    assert [row.state for row in deliveries(database)] == [DeliveryState.FAILED, DeliveryState.WAITING]
    switch(*audited, made.public_id, State.ACTIVE, actor=TESTER)
    assert len(take(*audited, Plenty())) == 1


def test_paused_means_later(app: Flask, audited: Audited) -> None:
    made = to_everything(app)
    switch(*audited, made.public_id, State.PAUSED, actor=TESTER)
    feed(app, sent(1))
    assert take(*audited, Plenty()) == []
    switch(*audited, made.public_id, State.ACTIVE, actor=TESTER)
    assert len(take(*audited, Plenty())) == 1


def test_both_secrets_sign_for_a_day(
    app: Flask, database: Database, audited: Audited, clock: MovableClock
) -> None:
    made = to_everything(app)
    new = rotate(*audited, made.public_id, actor=TESTER)
    assert new.secret != made.secret

    def signing() -> list[str]:
        send_test(database, made.public_id)
        return [secret_text(secret) for secret in take(*audited, Plenty())[-1].secrets]

    assert signing() == [new.secret, made.secret]
    clock.forward(timedelta(hours=24))
    assert signing() == [new.secret]


def test_secrets_survive_new_audit_key(
    app: Flask, database: Database, audit_keys: AuditKeys, clock: MovableClock
) -> None:
    """A lost key is reported."""
    made = to_everything(app)
    former = audit_keys.present.decode()
    file = audit_keys._file
    feed(app, sent(1))
    stored_key = AuditKeys("n" * 40, (former,), file)
    assert [secret_text(s) for s in take(database, stored_key, Plenty())[0].secrets] == [made.secret]
    clock.forward(CLAIM)
    lost = AuditKeys("n" * 40, (), file)
    (due,) = take(database, lost, Plenty())
    assert due.secrets == ()
    assert "not configured" in due.fault


def test_replay_resends_with_same_ids(
    app: Flask, database: Database, audited: Audited, clock: MovableClock
) -> None:
    made = to_everything(app)
    for n in range(1, 5):
        feed(app, sent(n))
        clock.forward(timedelta(minutes=1))
    taken = take(*audited, Plenty())
    ended(database, taken[0], 200)
    ended(database, taken[1], 200)
    ended(database, taken[2], 410)
    switch(*audited, made.public_id, State.ACTIVE, actor=TESTER)
    span = (NOW + timedelta(minutes=1), NOW + timedelta(minutes=3))
    assert replay(*audited, made.public_id, *span, actor=TESTER) == 1
    assert [due.message_id for due in take(*audited, Plenty())] == [taken[2].message_id]
    assert replay(*audited, made.public_id, *span, actor=TESTER, delivered_too=True) == 1
    again = take(*audited, Plenty())
    assert [(due.message_id, due.attempts) for due in again] == [(taken[1].message_id, 0)]


def test_old_deliveries_are_deleted(
    app: Flask, database: Database, audited: Audited, clock: MovableClock
) -> None:
    to_everything(app)
    gone = to_subjects(app, transfers=[1])
    feed(app, sent(1))
    switch(*audited, gone.public_id, State.REMOVED, actor=TESTER)
    clean_up(database)
    clean_up(database)
    assert len(deliveries(database)) == 1
    clock.forward(RETENTION + timedelta(seconds=1))
    clean_up(database)
    assert deliveries(database) == []


def test_more_than_one_turn_deletes_is_deleted(
    app: Flask, database: Database, audited: Audited, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As much as is written between two turns: otherwise the table would grow for ever."""
    monkeypatch.setattr(delivering, "_DELETED_AT_ONCE", 2)
    to_everything(app)
    removed = to_subjects(app, transfers=range(1, 8))
    feed(app, *(sent(n) for n in range(1, 8)))
    assert len(deliveries(database)) == 14
    switch(*audited, removed.public_id, State.REMOVED, actor=TESTER)
    clean_up(database)
    assert len(deliveries(database)) == 7
    clock.forward(RETENTION + timedelta(seconds=1))
    clean_up(database)
    assert deliveries(database) == []


def test_backlog_of_one_receiver_delays_no_other(app: Flask, audited: Audited) -> None:
    to_everything(app, "https://hangs.example/")
    feed(app, *(sent(n) for n in range(1, 300)))
    to_everything(app, "https://good.example/")
    room = Plenty(2)
    room.fill("hangs.example:443", 2)
    feed(app, sent(300))
    assert [due.place for due in take(*audited, room)] == ["good.example:443"]
