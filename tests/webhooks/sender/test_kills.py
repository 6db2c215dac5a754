"""Senders that are killed, at any moment, lose nothing; what comes twice has the same id."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from app.audit.keys import AuditKeys
from app.db.database import Database
from app.http.application import part_of
from app.values.times import system_clock
from app.webhooks.rules.subscription import DeliveryState
from tests.amounts import few_or_many
from tests.applications import change_part
from tests.feed.services.world import feed, released, sent
from tests.webhooks.sender.receiver import Received, Receiver
from tests.webhooks.services.hooks import deliveries, to_everything

ROOT = Path(__file__).parents[3]

DELIVER = """
import sys
from datetime import timedelta
from app import create_app
from app.webhooks.services import delivering

delivering.CLAIM = timedelta(seconds=2)
sys.exit(create_app().test_cli_runner().invoke(args=["deliver"]).exit_code)
"""
"""``flask deliver``, whose claims end soon after it is killed."""


SEED = 1
TRANSFERS_A_KILL = 4


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("kills", few_or_many(1, 15))
def test_killed_senders_lose_nothing(app: Flask, database_url: str, kills: int) -> None:
    change_part(app, Database, clock=system_clock)
    database = part_of(app, Database)
    environment = os.environ | {
        "DATABASE_URL": database_url,
        "AUDIT_KEY": part_of(app, AuditKeys).present.decode(),
        "WEBHOOK_ALLOW_NETWORKS": "127.0.0.0/8",
    }
    dice = random.Random(SEED)
    bodies: dict[str, list[bytes]] = defaultdict(list)
    transfers = kills * TRANSFERS_A_KILL

    def answer(received: Received) -> tuple[int, str]:
        bodies[received.headers["webhook-id"]].append(received.body)
        return 200, ""

    async def started() -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(sys.executable, "-c", DELIVER, cwd=ROOT, env=environment)

    async def work(receiver: Receiver, senders: list[asyncio.subprocess.Process]) -> None:
        to_everything(app, receiver.url())
        senders += [await started() for _ in range(2)]
        for n in range(1, transfers + 1):
            await asyncio.to_thread(feed, app, sent(n))
            await asyncio.to_thread(feed, app, released(n))
            if n == 1:
                await until(lambda: bool(bodies))  # a sender is at work
            await asyncio.sleep(0.05)
            if n % TRANSFERS_A_KILL == 0:
                victim = dice.randrange(2)
                senders[victim].kill()
                await senders[victim].wait()
                if n < transfers:  # what the last one had taken is sent by the other
                    senders[victim] = await started()
        await until(lambda: all(row.state == DeliveryState.DELIVERED for row in deliveries(database)))

    async def work_and_end() -> None:
        senders: list[asyncio.subprocess.Process] = []
        async with Receiver(answer) as receiver:
            try:
                await work(receiver, senders)
            finally:
                for sender in senders:
                    if sender.returncode is None:
                        sender.terminate()
                ends = [await sender.wait() for sender in senders]
        # One that was started a moment ago does not listen to signals yet; one was killed.
        assert set(ends) <= {0, -signal.SIGTERM, -signal.SIGKILL}

    asyncio.run(work_and_end())
    rows = deliveries(database)
    assert len(rows) == 2 * transfers
    assert {row.message_id: {row.body.encode()} for row in rows} == {i: set(b) for i, b in bodies.items()}
