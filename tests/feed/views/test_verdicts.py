"""Verdicts of accepted and refused lines: stored once, reported line by line, committed before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from app.credentials.services.issuing import issue, new_token
from app.db.database import Database
from app.db.engine import reading
from app.feed.services import ingest
from app.transfers.models import Anomaly
from tests.actors import TESTER
from tests.applications import Editing
from tests.feed.services.world import about, event, released, sent, transfer_id
from tests.feed.views.kit import CURSOR, bearer, logged, ndjson, post, verdict


def status_of(client: FlaskClient, n: int) -> Any:
    return client.post("/v2/getTransferStatus", json={"transfer_id": transfer_id(n)}).get_json()["status"]


def test_accepted_events_are_stored_and_count(client: FlaskClient, app: Flask, editing: Editing) -> None:
    token = issue(*editing, new_token("relayer-1"), actor=TESTER).text
    answer = verdict(post(client, [sent(1), about(1, "network.status", xfer_status=2)], token))
    assert answer == {"accepted": 2, "repeated": 0, "refused": []}
    assert status_of(client, 1) == 4
    assert verdict(post(client, [released(1)], token))["accepted"] == 1
    assert status_of(client, 1) == 5
    assert {reporter for _, reporter in logged(app)} == {"relayer-1"}


def test_repeated_events_count_once(client: FlaskClient, app: Flask, editing: Editing) -> None:
    body = ndjson(sent(1), sent(2), sent(1))
    assert verdict(post(client, body)) == {"accepted": 2, "repeated": 1, "refused": []}
    assert verdict(post(client, body)) == {"accepted": 0, "repeated": 3, "refused": []}
    other = issue(*editing, new_token("another"), actor=TESTER).text
    assert verdict(post(client, body, other))["repeated"] == 3
    assert len(logged(app)) == 2


def test_id_with_other_content_is_refused(client: FlaskClient, database: Database) -> None:
    first = sent(1)
    post(client, [first])
    answer = verdict(post(client, [sent(2), first | {"amount": "1"}, sent(3)]))
    assert answer["accepted"] == 2
    assert answer["refused"] == [
        {
            "line": 2,
            "id": first["id"],
            "reason": "id: was reported before with other content (amount): send a new fact with a new id",
        }
    ]
    with reading(database.engine) as connection:
        assert connection.scalar(select(Anomaly.kind)) == "id_with_two_contents"


def test_refusals_are_in_line_order(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blank lines are counted."""
    monkeypatch.setattr(ingest, "BATCH", 4)  # what is unreadable and what is validated mix within batches
    first = sent(1)
    twice = json.dumps(first | {"amount": "1"}).encode()
    reorg = json.dumps(event("chain.reorged", chain_id=1, from_block=100)).encode()
    body = b"\n".join(
        [b"", json.dumps(first).encode(), b"", twice, b"broken", b" ", twice, b"[]", reorg, b"", twice, b"{"]
    )
    answer = verdict(post(client, body))
    assert [line["line"] for line in answer["refused"]] == [4, 5, 7, 8, 11, 12]
    assert [line["id"] for line in answer["refused"]] == [first["id"], "", first["id"], "", first["id"], ""]
    assert answer["accepted"] == 2


def test_cursor_is_the_last_accepted_event(client: FlaskClient, editing: Editing) -> None:
    mine, other = (
        issue(*editing, new_token("mine"), actor=TESTER).text,
        issue(*editing, new_token("other"), actor=TESTER).text,
    )
    empty = client.get(CURSOR, headers=bearer(mine))
    assert empty.get_json() == {"err": None, "cursor": None}
    assert empty.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in empty.headers
    post(client, [sent(1), sent(2, at=-90.25)], mine)
    post(client, [sent(3)], other)
    expected = {
        "id": sent(2, at=-90.25)["id"],
        "type": "transfer.sent",
        "at": "2026-06-01T11:58:29.750000Z",
        "received_at": "2026-06-01T12:00:00Z",
        "seq": 2,
    }
    assert client.get(CURSOR, headers=bearer(mine)).get_json() == {"err": None, "cursor": expected}
    post(client, [sent(1)], mine)  # repeated: it was accepted before
    post(client, b"nonsense", mine)
    assert client.get(CURSOR, headers=bearer(mine)).get_json()["cursor"] == expected
    assert client.get(CURSOR, headers=bearer(other)).get_json()["cursor"]["seq"] == 3
    assert client.get(CURSOR, headers=bearer("test-ingest-token")).get_json()["cursor"] is None
