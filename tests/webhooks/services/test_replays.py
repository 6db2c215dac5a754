"""A replay repairs what release 1.0 answered, and those who follow a transfer hear of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import select, update

from app.credentials.rules.ingest_token import Scope
from app.db.engine import reading, writing
from app.feed.models import JournalRow
from app.feed.services.ingest import ingest_lines
from app.feed.services.reprojection import replay
from app.feed.verifying.run import verify
from app.transfers.models import Event, Transfer
from app.transfers.rules.published_changes import BEGINNING
from app.waiting.services import published_after
from tests.actors import TESTER
from tests.feed.services.world import about, feed, of, proven, released
from tests.gateway import Gateway
from tests.webhooks.services.hooks import deliveries, to_everything, told

SEND = proven(1)
KEY: Any = bytes.fromhex(SEND["transfer_id"][2:])


def limited(gateway: Gateway, line: dict[str, Any], *chains: int) -> None:
    """Report an event by a token for some chains."""
    scope = Scope(chains=frozenset(chains))
    told = ingest_lines(gateway.database, gateway.intake, [json.dumps(line).encode()], "limited", scope=scope)
    assert told.refused == []


def answered_by_1_0(gateway: Gateway, **answer: Any) -> None:
    """Store what release 1.0 answered, and the last change that it published."""
    with writing(gateway.engine) as connection:
        connection.execute(update(Transfer).values(**answer))
        newest = select(JournalRow.sequence).order_by(JournalRow.sequence.desc()).limit(1).scalar_subquery()
        row = update(JournalRow).where(JournalRow.sequence == newest)
        connection.execute(row.values(status=answer["status"], previous_status=1))


def stored_by_1_0(gateway: Gateway, event_id: str, **fields: Any) -> None:
    """Store an event as release 1.0 spelled it."""
    with writing(gateway.engine) as connection:
        row = connection.execute(select(Event.seq, Event.body).where(Event.event_id == event_id)).one()
        body = json.dumps(json.loads(row.body) | fields, separators=(",", ":"))
        connection.execute(update(Event).where(Event.seq == row.seq).values(body=body))


def found(gateway: Gateway) -> list[str]:
    """What verify prints of transfers."""
    lines: list[str] = []
    verify(gateway.database, lambda difference: lines.append(str(difference)))
    return [line for line in lines if line.startswith("transfers ")]


def statuses(gateway: Gateway) -> list[tuple[int, int, bool]]:
    """The changes that a stream of the transfer has."""
    changes = published_after(gateway.database, KEY, BEGINNING).changes
    assert changes is not None
    return [(e.change.previous_status, e.change.status, e.change.taken_back) for e in changes]


def test_misplaced_release_is_taken_back(gateway: Gateway) -> None:
    to_everything(gateway)
    paid = of(SEND, released(1, event_id="paid", block=200))
    feed(gateway, SEND)
    limited(gateway, paid, 2)
    feed(gateway, paid | {"chain_id": 1})
    answered_by_1_0(gateway, status=5)
    assert "status is 5 and should be 1" in found(gateway)[0]
    assert found(gateway)[0].endswith(
        "(because reports of one fact together say that it was read on another chain)"
    )
    before, seen = len(deliveries(gateway)), len(statuses(gateway))
    replay(*gateway.audited, actor=TESTER)
    assert statuses(gateway)[seen:] == [(5, 1, True)]
    assert [each["taken_back"] for each in told(gateway)[before:]] == [True]
    assert found(gateway) == []


def test_replay_that_changes_nothing_sends_nothing(gateway: Gateway) -> None:
    to_everything(gateway)
    feed(gateway, SEND, of(SEND, about(1, "transfer.confirmed")))
    before, seen = len(deliveries(gateway)), statuses(gateway)
    replay(*gateway.audited, actor=TESTER)
    replay(*gateway.audited, actor=TESTER)
    assert (len(deliveries(gateway)), statuses(gateway)) == (before, seen)


@pytest.mark.parametrize(
    "spelled", [{"sender": SEND["sender"][2:]}, {"token": SEND["token"][2:].lower()}, {"nonce": "0x01"}]
)
def test_stored_event_is_read_in_its_one_form(gateway: Gateway, spelled: dict[str, str]) -> None:
    feed(gateway, SEND)
    stored_by_1_0(gateway, SEND["id"], **spelled)
    assert feed(gateway, SEND).repeated == 1
    assert found(gateway) == []


def test_stored_send_that_contradicts_its_id_counts_for_nothing(gateway: Gateway) -> None:
    to_everything(gateway)
    feed(gateway, SEND)
    stored_by_1_0(gateway, SEND["id"], nonce="0x2")
    assert "status is 1 and should be 0" in found(gateway)[0]
    assert "a send contradicts the transfer id" in found(gateway)[0]
    replay(*gateway.audited, actor=TESTER)
    assert statuses(gateway) == [(0, 1, False), (1, 0, True)]
    assert [(each["previous_status"], each["status"]) for each in told(gateway)] == [(0, 1), (1, 0)]


def test_stored_id_gets_its_one_form(gateway: Gateway) -> None:
    spelled = f"1:0x{'AB' * 32}:{'CD' * 32}:07"
    one = f"1:0x{'ab' * 32}:0x{'cd' * 32}:7"
    added = {"chain_id": 1, "symbol": "USDT", "amount": "5", "block": 7}
    line = about(1, "liquidity.added", **added) | {"id": "first"}
    feed(gateway, line)
    with writing(gateway.engine) as connection:
        connection.execute(update(Event).values(event_id=spelled))
    feed(gateway, line | {"id": spelled})
    replay(*gateway.audited, actor=TESTER)
    with reading(gateway.engine) as connection:
        rows = connection.execute(select(Event.event_id, Event.occurrence).order_by(Event.seq)).all()
    assert [tuple(row) for row in rows] == [(one, 0), (one, 1)]
    assert feed(gateway, line | {"id": spelled}).repeated == 1
    lines: list[str] = []
    verify(gateway.database, lambda difference: lines.append(str(difference)))
    assert lines == []
