"""Client libraries verify what the sender sends, by both secrets while they change."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app.db.database import Database
from app.http.application import part_of
from app.values.codes import TransferHistoryStatus as Status
from app.values.times import system_clock
from app.webhooks.services.subscriptions import rotate
from tests.actors import TESTER
from tests.applications import audited_of, change_part
from tests.clients import workshop
from tests.feed.services.world import event, feed, released, sent
from tests.webhooks.sender.receiver import Receiver, send_due
from tests.webhooks.services.hooks import to_everything

REFUSED = {"error": "WebhookError", "says": "no signature is by this secret"}


def received(app: Flask) -> list[dict[str, Any]]:
    """Cases of the deliveries of a transfer that is paid out, and whose payout is retracted."""
    change_part(app, Database, clock=system_clock)
    cases: list[dict[str, Any]] = []

    async def work() -> None:
        async with Receiver() as receiver:
            made = to_everything(app, receiver.url())
            new = rotate(*audited_of(app), made.public_id, actor=TESTER)
            for line in (sent(1), released(1, block=200), event("chain.reorged", chain_id=2, from_block=200)):
                feed(app, line)
                await send_due(app)
            secrets = {"the old secret": made.secret, "the new secret": new.secret}
            for number, got in enumerate(receiver.seen):
                body = got.body.decode()
                given = {
                    "do": "webhook",
                    "headers": got.headers,
                    "now": part_of(app, Database).clock().timestamp(),
                }
                for words, secret in secrets.items():
                    case = {**given, "name": f"{number}, {words}", "secrets": [secret], "body": body}
                    cases.append(case | {"expect": {"value": json.loads(body)}})
                    cases.append(case | {"name": f"{number}, changed", "body": f"{body} ", "expect": REFUSED})

    asyncio.run(work())
    sent_data = [case["expect"]["value"]["data"] for case in cases[::4]]
    assert [(each["status"], "taken_back" in each) for each in sent_data] == [
        (Status.TRANSFER_SUBMITTING, False),
        (Status.TRANSFER_COMPLETED, False),
        (Status.TRANSFER_SUBMITTING, True),
    ]
    return cases


@pytest.mark.one_database
def test_python_verifies_the_sender(app: Flask) -> None:
    workshop.check_python(received(app), {})


@pytest.mark.slow
@pytest.mark.system
def test_typescript_verifies_the_sender(app: Flask, tmp_path: Path) -> None:
    workshop.check_typescript(received(app), {}, tmp_path)
