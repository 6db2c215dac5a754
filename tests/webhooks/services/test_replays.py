"""A replay repairs what release 1.0 answered, and clients that follow a transfer get it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from app.credentials.rules.ingest_token import Scope
from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.models import JournalRow
from app.feed.services.ingest import Intake, ingest_lines
from app.feed.services.reprojection import replay
from app.feed.verifying.run import verify
from app.http.application import part_of
from app.transfers.models import Event, Transfer
from app.transfers.rules.published_changes import BEGINNING
from app.values.codes import TransferHistoryStatus as Status
from app.waiting.services import published_after
from tests.actors import TESTER
from tests.applications import Audited
from tests.feed.services.world import about, feed, for_send, proven, released
from tests.webhooks.services.hooks import deliveries, published, to_everything

SEND = proven(1)
KEY: Any = bytes.fromhex(SEND["transfer_id"][2:])


def limited(app: Flask, line: dict[str, Any], *chains: int) -> None:
    """Report an event by a token for some chains."""
    scope = Scope(chains=frozenset(chains))
    result = ingest_lines(
        part_of(app, Database), part_of(app, Intake), [json.dumps(line).encode()], "limited", scope=scope
    )
    assert result.refused == []


def answered_by_1_0(database: Database, **answer: Any) -> None:
    """Store what release 1.0 answered, and the last change that it published."""
    with writing(database.engine) as connection:
        connection.execute(update(Transfer).values(**answer))
        newest = select(JournalRow.sequence).order_by(JournalRow.sequence.desc()).limit(1).scalar_subquery()
        row = update(JournalRow).where(JournalRow.sequence == newest)
        connection.execute(row.values(status=answer["status"], previous_status=1))


def stored_by_1_0(database: Database, event_id: str, **fields: Any) -> None:
    """Store an event as release 1.0 spelled it."""
    with writing(database.engine) as connection:
        row = connection.execute(select(Event.seq, Event.body).where(Event.event_id == event_id)).one()
        body = json.dumps(json.loads(row.body) | fields, separators=(",", ":"))
        connection.execute(update(Event).where(Event.seq == row.seq).values(body=body))


def found(database: Database) -> list[str]:
    """What verify prints of transfers."""
    lines: list[str] = []
    verify(database, lambda difference: lines.append(str(difference)))
    return [line for line in lines if line.startswith("transfers ")]


def statuses(database: Database) -> list[tuple[int, int, bool]]:
    """The changes that a stream of the transfer has."""
    changes = published_after(database, KEY, BEGINNING).changes
    assert changes is not None
    return [(e.change.previous_status, e.change.status, e.change.taken_back) for e in changes]


@pytest.mark.one_database
def test_misplaced_release_is_taken_back(app: Flask, database: Database, audited: Audited) -> None:
    to_everything(app)
    paid = for_send(SEND, released(1, event_id="paid", block=200))
    feed(app, SEND)
    limited(app, paid, 2)
    feed(app, paid | {"chain_id": 1})
    answered_by_1_0(database, status=5)
    assert "status is 5 and should be 1" in found(database)[0]
    assert found(database)[0].endswith(
        "(because reports of one fact together say that it was read on another chain)"
    )
    before, seen = len(deliveries(database)), len(statuses(database))
    replay(*audited, actor=TESTER)
    assert statuses(database)[seen:] == [(Status.TRANSFER_COMPLETED, Status.TRANSFER_SUBMITTING, True)]
    assert [each["taken_back"] for each in published(app)[before:]] == [True]
    assert found(database) == []
    replay(*audited, actor=TESTER)
    assert (len(deliveries(database)), len(statuses(database))) == (before + 1, seen + 1), "nothing changed"


@pytest.mark.one_database
def test_event_spelled_by_1_0_counts_as_repeated(app: Flask, database: Database) -> None:
    feed(app, SEND)
    stored_by_1_0(
        database, SEND["id"], sender=SEND["sender"][2:], token=SEND["token"][2:].lower(), nonce="0x01"
    )
    assert feed(app, SEND).repeated == 1
    assert found(database) == []


def test_stored_send_of_other_id_does_not_count(app: Flask, database: Database, audited: Audited) -> None:
    to_everything(app)
    feed(app, SEND)
    stored_by_1_0(database, SEND["id"], nonce="0x2")
    assert "status is 1 and should be 0" in found(database)[0]
    assert "a send contradicts the transfer id" in found(database)[0]
    replay(*audited, actor=TESTER)
    assert statuses(database) == [
        (Status.TRANSFER_UNKNOWN, Status.TRANSFER_SUBMITTING, False),
        (Status.TRANSFER_SUBMITTING, Status.TRANSFER_UNKNOWN, True),
    ]
    assert [(each["previous_status"], each["status"]) for each in published(app)] == [
        (Status.TRANSFER_UNKNOWN, Status.TRANSFER_SUBMITTING),
        (Status.TRANSFER_SUBMITTING, Status.TRANSFER_UNKNOWN),
    ]


@pytest.mark.one_database
def test_replay_canonicalizes_stored_event_id(app: Flask, database: Database, audited: Audited) -> None:
    spelled = f"1:0x{'AB' * 32}:{'CD' * 32}:07"
    one = f"1:0x{'ab' * 32}:0x{'cd' * 32}:7"
    added = about(1, "liquidity.added", chain_id=1, symbol="USDT", amount="5", block=7)
    line = added | {"id": "first"}
    feed(app, line)
    with writing(database.engine) as connection:
        connection.execute(update(Event).values(event_id=spelled))
    feed(app, line | {"id": spelled})
    replay(*audited, actor=TESTER)
    with reading(database.engine) as connection:
        rows = connection.execute(select(Event.event_id, Event.occurrence).order_by(Event.seq)).all()
    assert [tuple(row) for row in rows] == [(one, 0), (one, 1)]
    assert feed(app, line | {"id": spelled}).repeated == 1
    lines: list[str] = []
    verify(database, lambda difference: lines.append(str(difference)))
    assert lines == []
