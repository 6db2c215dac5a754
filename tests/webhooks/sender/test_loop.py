"""From a changed status to a receiver: signed, once, again after failures, and not lost in an outage."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from flask import Flask
from standardwebhooks import Webhook

from app.db.database import Database
from app.http.application import part_of
from app.values.codes import TransferHistoryStatus as Status
from app.values.times import system_clock
from app.webhooks.post import Answer, Poster
from app.webhooks.rules.addresses import AllowedNetworks
from app.webhooks.rules.subscription import DeliveryState, State
from app.webhooks.sender import AT_PROVEN, AT_UNPROVEN, Sender
from app.webhooks.services.subscriptions import rotate
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import audited_of, change_part
from tests.builders.clock import MovableClock
from tests.feed.services.world import about, feed, released, sent
from tests.webhooks.sender.receiver import Names, Received, Receiver, send_due, sender_of
from tests.webhooks.services.hooks import deliveries, subscription_of, to_everything


def test_change_arrives_signed_by_both_secrets(app: Flask) -> None:
    change_part(app, Database, clock=system_clock)

    async def work() -> None:
        async with Receiver() as receiver:
            made = to_everything(app, receiver.url())
            new = rotate(*audited_of(app), made.public_id, actor=TESTER)
            feed(app, sent(1))
            await send_due(app)
            await send_due(app)
            (got,) = receiver.seen
            for secret in (made.secret, new.secret):
                event = Webhook(secret).verify(got.body, got.headers)
                assert (event["type"], event["data"]["status"]) == (
                    "transfer.status",
                    Status.TRANSFER_SUBMITTING,
                )

    asyncio.run(work())
    (row,) = deliveries(part_of(app, Database))
    assert row.state == DeliveryState.DELIVERED
    (attempt,) = json.loads(row.tries)
    assert (attempt["status"], attempt["error"]) == (204, "")


def test_status_410_ends_and_redirect_fails(app: Flask, database: Database) -> None:
    async def work() -> None:
        gone = Receiver(lambda _r: (410, ""))
        moved = Receiver(lambda _r: (301, "Location: http://127.0.0.1:9/\r\n"))
        async with gone, moved:
            of_gone, of_moved = to_everything(app, gone.url()), to_everything(app, moved.url())
            feed(app, sent(1))
            await send_due(app)
            assert subscription_of(database, of_gone).state == State.OFF
            assert subscription_of(database, of_moved).state == State.ACTIVE

    asyncio.run(work())
    first, second = deliveries(database)
    assert (first.state, second.state) == (DeliveryState.FAILED, DeliveryState.WAITING)
    assert json.loads(second.tries)[0]["error"] == "HTTP 301"


@pytest.mark.parametrize("transfers", few_or_many(3, 40))
def test_nothing_is_lost_in_an_outage(
    app: Flask, database: Database, clock: MovableClock, transfers: int
) -> None:
    """The receiver is down for most of the schedule; events go on happening."""
    ends = clock.now + timedelta(hours=60)
    bodies: dict[str, set[bytes]] = defaultdict(set)
    taken: list[str] = []

    def answer(received: Received) -> tuple[int, str]:
        bodies[received.headers["webhook-id"]].add(received.body)
        if clock.now < ends:
            return 503, ""
        taken.append(received.headers["webhook-id"])
        return 200, ""

    async def work() -> None:
        async with Receiver(answer) as receiver:
            to_everything(app, receiver.url())
            reported = 0
            while clock.now < ends + timedelta(hours=30):
                if reported < transfers:
                    reported += 1
                    feed(app, sent(reported))
                    feed(app, about(reported, "transfer.confirmed", at=-60), released(reported))
                await send_due(app)
                clock.forward(timedelta(minutes=30 if reported < transfers else 300))

    asyncio.run(work())
    rows = deliveries(database)
    assert len(rows) == 2 * transfers
    assert {row.state for row in rows} == {DeliveryState.DELIVERED}
    assert sorted(taken) == sorted(row.message_id for row in rows)
    assert {row.message_id: {row.body.encode()} for row in rows} == bodies
    assert max(row.attempts for row in rows) > 5


class Failing(Poster):
    """As a poster whose library fails in an unexpected way."""

    def __init__(self) -> None:
        super().__init__(Names(), ())
        self.attempts = 0

    async def post(self, url: str, *_: object) -> Answer:
        self.attempts += 1
        raise ArithmeticError(url)


def test_local_failure_is_noted_and_frees_place(
    app: Flask, database: Database, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    poster = Failing()

    async def work() -> None:
        sender = sender_of(app, poster)
        for _ in range(4):  # more often than a place that was never reached has room
            await asyncio.wait_for(sender.run_once(), 10)
            clock.forward(timedelta(hours=1))
        await poster.close()

    to_everything(app, "https://hooks.example/?token=hidden")
    feed(app, sent(1))
    asyncio.run(work())
    (row,) = deliveries(database)
    assert (row.state, row.attempts, poster.attempts) == (DeliveryState.WAITING, 4, 4)
    assert "ArithmeticError" in caplog.text
    assert "hidden" not in caplog.text + row.tries


@pytest.mark.parametrize("run", [Sender.run, Sender.run_once])
def test_sending_can_be_stopped(
    app: Flask, database: Database, run: Callable[[Sender], Awaitable[None]]
) -> None:
    async def work() -> None:
        poster = Poster(Names(), part_of(app, AllowedNetworks))
        sender = sender_of(app, poster)

        def answer(_received: Received) -> tuple[int, str]:
            sender.stop()
            return 200, ""

        async with Receiver(answer) as receiver:
            to_everything(app, receiver.url())
            feed(app, *(sent(n) for n in range(1, 41)))
            await asyncio.wait_for(run(sender), 10)
        await poster.close()

    asyncio.run(work())
    states = [row.state for row in deliveries(database)]
    # What was taken is sent to its end, and some may just be taken when it is stopped.
    delivered = states.count(DeliveryState.DELIVERED)
    assert 1 <= delivered <= AT_UNPROVEN + AT_PROVEN
    assert states.count(DeliveryState.WAITING) == 40 - delivered
