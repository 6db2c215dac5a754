"""Receivers that hang do not hold up the others."""

from __future__ import annotations

import asyncio

import pytest
from flask import Flask

from app.db.database import Database
from app.http.application import part_of
from app.values.times import system_clock
from app.webhooks import post
from app.webhooks.post import Poster
from app.webhooks.rules.addresses import AllowedNetworks
from app.webhooks.sender import AT_UNPROVEN
from tests.applications import change_part
from tests.feed.services.world import feed, sent
from tests.webhooks.sender.receiver import HANG, Names, Received, Receiver, sender_of
from tests.webhooks.services.hooks import to_everything

RECEIVERS, EVENTS = 10, 12
LONG = 300.0
"""Seconds: longer than the test may take."""


def hangs(_received: Received) -> tuple[int, str]:
    return HANG, ""


def test_half_of_the_receivers_hang(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """All events come to the others while nothing that hangs has ended."""
    monkeypatch.setattr(post, "ANSWER_SECONDS", LONG)
    change_part(app, Database, clock=system_clock)

    async def work() -> None:
        receivers = [await Receiver().__aenter__() for _ in range(RECEIVERS)]
        for receiver in receivers:
            to_everything(app, receiver.url())
        hanging, good = receivers[::2], receivers[1::2]
        for receiver in hanging:
            receiver.answer = hangs
        poster = Poster(Names(), part_of(app, AllowedNetworks))
        sender = sender_of(app, poster)
        running = asyncio.create_task(sender.run())
        for n in range(EVENTS):
            await asyncio.to_thread(feed, app, sent(n + 1))
        async with asyncio.timeout(LONG / 3):
            while any(len(receiver.seen) < EVENTS for receiver in good):
                await asyncio.sleep(0.05)
        assert [len(receiver.seen) for receiver in good] == [EVENTS] * len(good)
        assert {len(receiver.seen) for receiver in hanging} == {AT_UNPROVEN}
        for receiver in receivers:
            await receiver.__aexit__()  # what hangs ends by it
        sender.stop()
        await running
        await poster.close()

    asyncio.run(work())
