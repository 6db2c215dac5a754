"""What senders take, and what becomes of it."""

import json
from datetime import timedelta

import pytest

from app.audit.keys import AuditKeys
from app.webhooks.rules.schedule import DELAYS, RETENTION
from app.webhooks.rules.subscription import DeliveryState, State, secret_text
from app.webhooks.services import delivering
from app.webhooks.services.delivering import CLAIM, Due, Outcome, bring_back, clean_up, replay, take
from app.webhooks.services.subscriptions import rotate, send_test, switch
from tests.actors import TESTER
from tests.feed.services.world import NOW, feed, sent
from tests.gateway import Gateway
from tests.webhooks.services.hooks import Clock, Plenty, deliveries, kept, to_everything, to_subjects


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def moved(gateway: Gateway, clock: Clock) -> Gateway:
    """The gateway with a clock that can be moved."""
    return gateway.but(clock=clock)


def ended(gateway: Gateway, due: Due, status: int | None, retry_after: timedelta | None = None) -> None:
    bring_back(
        gateway.database,
        [Outcome(due, gateway.clock(), 12, status, "" if status == 200 else "no", retry_after)],
    )


def test_taken_delivery_is_claimed_meanwhile(moved: Gateway, clock: Clock) -> None:
    to_everything(moved)
    feed(moved, sent(1), sent(2))
    first = take(*moved.audited, Plenty())
    assert [json.loads(due.body)["data"]["seq"] for due in first] == [1, 2]
    assert take(*moved.audited, Plenty()) == []
    clock.move(CLAIM)
    again = take(*moved.audited, Plenty())
    assert [due.message_id for due in again] == [due.message_id for due in first]


def test_clock_set_back_delays_nothing(moved: Gateway, clock: Clock) -> None:
    """Neither what was written by it, nor what is tried again, nor a receiver that asked for a pause."""
    to_everything(moved)
    clock.move(timedelta(days=40))
    feed(moved, sent(1))
    (due,) = take(*moved.audited, Plenty())
    ended(moved, due, 503, retry_after=timedelta(hours=1))
    feed(moved, sent(2))
    clock.move(-timedelta(days=40))
    assert take(*moved.audited, Plenty()) == []
    clean_up(moved.database)
    assert len(take(*moved.audited, Plenty())) == 2


def test_longest_wait_continues(moved: Gateway, clock: Clock) -> None:
    """What waits as long as it may goes on waiting."""
    to_everything(moved)
    feed(moved, sent(1))
    (due,) = take(*moved.audited, Plenty())
    clean_up(moved.database)
    assert take(*moved.audited, Plenty()) == []
    ended(moved, due, 503, retry_after=timedelta(hours=24))
    clean_up(moved.database)
    clock.move(timedelta(hours=24) - timedelta(seconds=1))
    assert take(*moved.audited, Plenty()) == []
    clock.move(timedelta(seconds=1))
    assert len(take(*moved.audited, Plenty())) == 1


def test_late_sender_notes_nothing(moved: Gateway, clock: Clock) -> None:
    to_everything(moved)
    feed(moved, sent(1))
    (slow,) = take(*moved.audited, Plenty())
    clock.move(CLAIM)
    (other,) = take(*moved.audited, Plenty())
    ended(moved, slow, None)
    (row,) = deliveries(moved)
    assert (row.attempts, row.tries) == (0, None)
    ended(moved, other, 200)
    (row,) = deliveries(moved)
    assert (row.state, row.next_at, row.attempts) == (DeliveryState.DELIVERED, None, 1)


def test_only_available_room_is_taken(moved: Gateway) -> None:
    to_everything(moved)
    to_everything(moved)
    to_everything(moved, "https://other.example/")
    feed(moved, *(sent(n) for n in range(1, 11)))
    room = Plenty(3)
    taken = take(*moved.audited, room)
    assert sorted(due.place for due in taken) == ["hooks.example:443"] * 3 + ["other.example:443"] * 3
    assert take(*moved.audited, room) == []


def test_failed_delivery_is_retried_then_abandoned(moved: Gateway, clock: Clock) -> None:
    to_everything(moved)
    feed(moved, sent(1))
    ids = set()
    for attempt in range(1, len(DELAYS) + 1):
        (due,) = take(*moved.audited, Plenty())
        ids.add(due.message_id)
        ended(moved, due, 500)
        (row,) = deliveries(moved)
        if attempt < len(DELAYS):
            wait = row.next_at - clock.now
            assert DELAYS[attempt] <= wait <= DELAYS[attempt] * 1.2
            clock.move(wait - timedelta(milliseconds=1))
            assert take(*moved.audited, Plenty()) == []
            clock.move(timedelta(milliseconds=1))
    (row,) = deliveries(moved)
    assert (row.state, row.next_at, row.attempts) == (DeliveryState.FAILED, None, 10)
    assert len(json.loads(row.tries)) == 10
    assert len(ids) == 1


def test_receiver_requesting_pause_gets_it(moved: Gateway, clock: Clock) -> None:
    made = to_everything(moved)
    feed(moved, sent(1))
    (due,) = take(*moved.audited, Plenty())
    ended(moved, due, 429, timedelta(minutes=20))
    feed(moved, sent(2))
    clock.move(timedelta(minutes=19))
    assert take(*moved.audited, Plenty()) == []
    clock.move(timedelta(minutes=1))
    assert len(take(*moved.audited, Plenty())) == 2
    assert kept(moved, made).quiet_until is not None


def test_410_switches_the_subscription_off(moved: Gateway, clock: Clock) -> None:
    made = to_everything(moved)
    feed(moved, sent(1), sent(2))
    one, _two = take(*moved.audited, Plenty())
    ended(moved, one, 410)
    row = kept(moved, made)
    assert (row.state, "410" in row.state_reason) == (State.OFF, True)
    feed(moved, sent(3))
    clock.move(CLAIM)
    assert take(*moved.audited, Plenty()) == []
    assert [row.state for row in deliveries(moved)] == [DeliveryState.FAILED, DeliveryState.WAITING]
    switch(*moved.audited, made.public_id, State.ACTIVE, actor=TESTER)
    assert len(take(*moved.audited, Plenty())) == 1


def test_paused_means_later(moved: Gateway) -> None:
    made = to_everything(moved)
    switch(*moved.audited, made.public_id, State.PAUSED, actor=TESTER)
    feed(moved, sent(1))
    assert take(*moved.audited, Plenty()) == []
    switch(*moved.audited, made.public_id, State.ACTIVE, actor=TESTER)
    assert len(take(*moved.audited, Plenty())) == 1


def test_both_secrets_sign_for_a_day(moved: Gateway, clock: Clock) -> None:
    made = to_everything(moved)
    new = rotate(*moved.audited, made.public_id, actor=TESTER)
    assert new.secret != made.secret

    def signing() -> list[str]:
        send_test(moved.database, made.public_id)
        return [secret_text(secret) for secret in take(*moved.audited, Plenty())[-1].secrets]

    assert signing() == [new.secret, made.secret]
    clock.move(timedelta(hours=24))
    assert signing() == [new.secret]


def test_secrets_survive_new_audit_key(moved: Gateway, clock: Clock) -> None:
    """A lost key is reported."""
    made = to_everything(moved)
    former = moved.audit_keys.present.decode()
    file = moved.audit_keys._file
    feed(moved, sent(1))
    stored_key = moved.but(audit_keys=AuditKeys("n" * 40, (former,), file))
    assert [secret_text(s) for s in take(*stored_key.audited, Plenty())[0].secrets] == [made.secret]
    clock.move(CLAIM)
    lost = moved.but(audit_keys=AuditKeys("n" * 40, (), file))
    (due,) = take(*lost.audited, Plenty())
    assert due.secrets == ()
    assert "not configured" in due.fault


def test_replay_resends_with_same_ids(moved: Gateway, clock: Clock) -> None:
    made = to_everything(moved)
    for n in range(1, 5):
        feed(moved, sent(n))
        clock.move(timedelta(minutes=1))
    taken = take(*moved.audited, Plenty())
    ended(moved, taken[0], 200)
    ended(moved, taken[1], 200)
    ended(moved, taken[2], 410)
    switch(*moved.audited, made.public_id, State.ACTIVE, actor=TESTER)
    span = (NOW + timedelta(minutes=1), NOW + timedelta(minutes=3))
    assert replay(*moved.audited, made.public_id, *span, actor=TESTER) == 1
    assert [due.message_id for due in take(*moved.audited, Plenty())] == [taken[2].message_id]
    assert replay(*moved.audited, made.public_id, *span, actor=TESTER, delivered_too=True) == 1
    again = take(*moved.audited, Plenty())
    assert [(due.message_id, due.attempts) for due in again] == [(taken[1].message_id, 0)]


def test_old_deliveries_and_removed_subscriptions_go(moved: Gateway, clock: Clock) -> None:
    to_everything(moved)
    gone = to_subjects(moved, transfers=[1])
    feed(moved, sent(1))
    switch(*moved.audited, gone.public_id, State.REMOVED, actor=TESTER)
    clean_up(moved.database)
    clean_up(moved.database)
    assert len(deliveries(moved)) == 1
    clock.move(RETENTION + timedelta(seconds=1))
    clean_up(moved.database)
    assert deliveries(moved) == []


def test_everything_too_old_is_deleted(moved: Gateway, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """As much as is written between two turns: otherwise the table would grow for ever."""
    monkeypatch.setattr(delivering, "_DELETED_AT_ONCE", 2)
    to_everything(moved)
    removed = to_subjects(moved, transfers=range(1, 8))
    feed(moved, *(sent(n) for n in range(1, 8)))
    assert len(deliveries(moved)) == 14
    switch(*moved.audited, removed.public_id, State.REMOVED, actor=TESTER)
    clean_up(moved.database)
    assert len(deliveries(moved)) == 7
    clock.move(RETENTION + timedelta(seconds=1))
    clean_up(moved.database)
    assert deliveries(moved) == []


def test_one_backlog_hides_no_others(moved: Gateway) -> None:
    to_everything(moved, "https://hangs.example/")
    feed(moved, *(sent(n) for n in range(1, 300)))
    to_everything(moved, "https://good.example/")
    room = Plenty(2)
    room.fill("hangs.example:443", 2)
    feed(moved, sent(300))
    assert [due.place for due in take(*moved.audited, room)] == ["good.example:443"]
