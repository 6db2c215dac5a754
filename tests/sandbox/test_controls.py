"""Made-up transfers are moved through the stories of the sandbox, by the ordinary way of events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.feed.models import JournalRow
from app.sandbox.catalogue import SANDBOX_TRANSFERS
from app.sandbox.services import STORIES
from app.transfers.models import Anomaly, Event
from app.values.codes import TransferHistoryStatus, XferStatus
from tests.applications import OpenApp
from tests.databases import SharedDatabase
from tests.sandboxes import SANDBOX_NOW, fill_sandbox

pytestmark = pytest.mark.one_database
PATH = "/sandbox/v1/advance"
ACCOUNT = "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820"
CLAIM = TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED
ID = "0x" + "c1" * 32

Answer = dict[str, Any]


@pytest.fixture
def app(open_app: OpenApp, shared_database: SharedDatabase) -> Iterator[Flask]:
    """A gateway whose made-up transfers can be moved."""
    application = open_app(sandbox_controls=True, clock=lambda: SANDBOX_NOW)
    with application.app_context():
        fill_sandbox(shared_database, application)
        yield application


@pytest.fixture
def sandbox(app: Flask) -> FlaskClient:
    return app.test_client()


def advance(client: FlaskClient, **body: object) -> Answer:
    response = client.post(PATH, json=body)
    answer: Answer = response.get_json()
    assert (response.status_code, answer["err"]) == (200, None), answer
    return answer


def refusal(client: FlaskClient, **body: object) -> str:
    response = client.post(PATH, json=body)
    answer = response.get_json()
    assert (response.status_code, answer["err"]["code"]) == (400, 500), answer
    assert response.headers["X-Gateway-Reason"] == "bad_request"
    assert (answer["transfer_id"], answer["status"], answer["done"], answer["left"]) == (
        "",
        TransferHistoryStatus.TRANSFER_UNKNOWN,
        [],
        [],
    )
    return str(answer["err"]["msg"])


def status(client: FlaskClient, transfer_id: str) -> tuple[Answer, Any]:
    response = client.post("/v2/getTransferStatus", json={"transfer_id": transfer_id})
    return response.get_json(), response.headers


def rows(database: Database, *columns: Any, of: str) -> list[Any]:
    """Of the transfer with this id, in the order of its rows."""
    table = columns[0].class_
    with reading(database.engine) as connection:
        about = select(*columns).where(table.transfer_id == bytes.fromhex(of[2:])).order_by(table.seq)
        return list(connection.execute(about))


@pytest.mark.every_database
def test_advance_ends_each_story_like_its_transfer(sandbox: FlaskClient, database: Database) -> None:
    for story in SANDBOX_TRANSFERS:
        moved = advance(sandbox, story=story.digits)
        assert (moved["status"], moved["done"], moved["left"]) == (story.status, list(story.steps), [])
        answer, headers = status(sandbox, moved["transfer_id"])
        assert (answer["status"], answer["refund_reason"]) == (story.status, story.refund_reason)
        assert bool(answer["wd_onchain"]) == (story.status is CLAIM)
        over = story.status in (
            TransferHistoryStatus.TRANSFER_FAILED,
            TransferHistoryStatus.TRANSFER_COMPLETED,
            TransferHistoryStatus.TRANSFER_REFUNDED,
        )
        assert headers["X-Transfer-Terminal"] == str(over).lower(), "blocks are final at once"
    with reading(database.engine) as connection:
        assert not connection.execute(select(Anomaly.id).where(Anomaly.transfer_id.is_not(None))).all()


def test_end_is_final_in_old_sandbox(sandbox: FlaskClient, open_app: OpenApp) -> None:
    later = open_app(sandbox_controls=True, clock=lambda: SANDBOX_NOW + timedelta(hours=2))
    with later.app_context():
        client = later.test_client()
        _, headers = status(client, advance(client, story="0005")["transfer_id"])
    assert headers["X-Transfer-Terminal"] == "true"


def test_advance_takes_given_number_of_steps(sandbox: FlaskClient) -> None:
    seen = []
    for steps in range(1, 6):
        moved = advance(sandbox, transfer_id=ID, story="0005", steps=steps)
        assert len(moved["done"]) == steps
        seen.append((moved["status"], status(sandbox, ID)[0]["status"]))
    assert seen == [(1, 1), (1, 1), (3, 3), (4, 4), (5, 5)]


def test_later_steps_need_only_the_transfer(database: Database, sandbox: FlaskClient) -> None:
    first = advance(sandbox, story="0008", steps=1)
    again = advance(sandbox, transfer_id=first["transfer_id"], steps=1)
    assert again == first
    logged = rows(database, Event.seq, of=first["transfer_id"])
    assert advance(sandbox, transfer_id=first["transfer_id"], steps=1, story="0008", account=None) == first
    assert rows(database, Event.seq, of=first["transfer_id"]) == logged, (
        "what has happened is not written again"
    )
    last = advance(sandbox, transfer_id=first["transfer_id"])
    assert (last["status"], last["left"]) == (TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED, [])
    assert advance(sandbox, transfer_id=first["transfer_id"], steps=1) == last, "nothing is taken back"


def test_transfer_is_that_of_sender(database: Database, sandbox: FlaskClient) -> None:
    moved = advance(sandbox, transfer_id=ID.upper().replace("0X", ""), story="0005", account=ACCOUNT)
    assert moved["transfer_id"] == ID
    history = sandbox.get(
        "/v2/transferHistory", query_string={"acct_addr": ACCOUNT, "page_size": 5}
    ).get_json()
    assert [each["transfer_id"] for each in history["history"]] == [ID]
    others = advance(sandbox, story="0005")["transfer_id"]
    senders = {json.loads(row.body)["sender"] for row in rows(database, Event.body, of=others)[:1]}
    assert senders.isdisjoint({ACCOUNT})


def test_events_come_the_ordinary_way(database: Database, sandbox: FlaskClient) -> None:
    moved = advance(sandbox, transfer_id=ID, story="0005", steps=2)
    advance(sandbox, transfer_id=ID)
    logged = rows(database, Event.type, Event.reporter, of=ID)
    assert {row.reporter for row in logged} == {"sandbox"}
    assert [row.type for row in logged] == [
        "transfer.submitted", "transfer.sent", "transfer.confirmed", "network.status", "transfer.released",
    ]  # fmt: skip
    changes = [row.status for row in rows(database, JournalRow.status, of=ID)]
    assert changes[-1] == 5
    assert len(changes) >= 2, "each request is a change of its own"
    assert moved["left"] == ["confirmed", "network_status SUCCESS", "released"]


def test_reorganisation_retracts_only_the_send(sandbox: FlaskClient) -> None:
    other = advance(sandbox, story="0101")["transfer_id"]
    advance(sandbox, transfer_id=ID, story="0100", steps=1)
    assert status(sandbox, ID)[0]["status"] == TransferHistoryStatus.TRANSFER_SUBMITTING
    assert advance(sandbox, transfer_id=ID)["status"] == TransferHistoryStatus.TRANSFER_UNKNOWN
    assert advance(sandbox, transfer_id=ID, steps=1)["status"] == TransferHistoryStatus.TRANSFER_UNKNOWN, (
        "the send is not canonical again"
    )
    assert status(sandbox, other)[0]["status"] == TransferHistoryStatus.TRANSFER_SUBMITTING
    for each in SANDBOX_TRANSFERS:
        assert status(sandbox, each.transfer_id)[0]["status"] == each.status


def test_medians_stay(sandbox: FlaskClient) -> None:
    query = {"src_chain_id": 1, "dst_chain_id": 56}
    before = sandbox.get("/v2/getLatest7DayTransferLatencyForQuery", query_string=query).get_json()
    for _ in range(3):
        advance(sandbox, story="0005")
    after = sandbox.get("/v2/getLatest7DayTransferLatencyForQuery", query_string=query).get_json()
    assert after == before


WRONG: tuple[tuple[Answer, str], ...] = (
    ({}, "story: is missing: of a new transfer send one of 0100, 0001,"),
    ({"story": "0012"}, "story: must be one of 0100, 0001,"),
    ({"story": 8}, "story: must be a string such as 0005"),
    ({"story": "0008", "steps": 6}, "steps: must be from 1 to 5: this story has 5 steps"),
    ({"story": "0008", "steps": 0}, "steps: must be from 1 to 5"),
    ({"story": "0008", "steps": "x"}, "steps: must be a whole number"),
    ({"story": "0008", "transfer_id": "0x12"}, "transfer_id: must be a string of 32 bytes in hex"),
    ({"story": "0008", "account": "alice"}, "account: must be an address: 0x and 40 hex digits"),
)


def test_impossible_step_explains_what_to_send(sandbox: FlaskClient) -> None:
    for body, says in WRONG:
        assert says in refusal(sandbox, **body)


def test_advance_refuses_change_of_story_or_account(sandbox: FlaskClient, database: Database) -> None:
    advance(sandbox, transfer_id=ID, story="0005", account=ACCOUNT, steps=1)
    assert (
        refusal(sandbox, transfer_id=ID, story="0008")
        == "story: the transfer is in the story 0005: send it, or none"
    )
    other = "0x" + "5a" * 20
    assert f"account: the transfer is of {ACCOUNT}" in refusal(sandbox, transfer_id=ID, account=other)
    with reading(database.engine) as connection:
        loaded = {each.transfer_id for each in SANDBOX_TRANSFERS}
        for row in connection.execute(select(Event.transfer_id).where(Event.type == "transfer.released")):
            if f"0x{row.transfer_id.hex()}" not in loaded:
                break
    assert "is not moved by a story" in refusal(sandbox, transfer_id=row.transfer_id.hex())


def test_stories_differ_by_first_event() -> None:
    sends = [(each.sends, each.route, each.steps[0]) for each in STORIES.values()]
    assert len(set(sends)) == len(STORIES) == len(SANDBOX_TRANSFERS)


def test_controls_are_served_only_where_set(open_app: OpenApp, shared_database: SharedDatabase) -> None:
    app = open_app(clock=lambda: SANDBOX_NOW)
    with app.app_context():
        fill_sandbox(shared_database, app)
        client = app.test_client()
        assert client.post(PATH, json={"story": "0005"}).status_code == 404
        assert PATH not in client.get("/openapi.json").get_json()["paths"]


def test_another_database_has_none(open_app: OpenApp) -> None:
    app = open_app(sandbox_controls=True)
    with app.app_context():
        response = app.test_client().post(PATH, json={"story": "0005"})
        assert (response.status_code, response.headers["X-Gateway-Reason"]) == (404, "path_not_found")


def test_operation_is_described_where_served(sandbox: FlaskClient) -> None:
    document = sandbox.get("/openapi.json").get_json()
    described = document["paths"][PATH]["post"]
    assert described["tags"] == ["Sandbox"]
    assert "Sandbox" in {each["name"] for each in document["tags"]}
    body = document["components"]["schemas"]["AdvanceBody"]["properties"]
    assert set(body) == {"story", "transfer_id", "account", "steps"}


def test_sandbox_control_allows_any_origin(sandbox: FlaskClient) -> None:
    for response in (
        sandbox.options(PATH),
        sandbox.post(PATH, json={"story": "0001"}),
        sandbox.post(PATH, json={}),
    ):
        assert response.headers["Access-Control-Allow-Origin"] == "*"


def test_bad_reason_is_that_of_transfer(sandbox: FlaskClient, database: Database) -> None:
    moved = advance(sandbox, story="0306")
    assert status(sandbox, moved["transfer_id"])[0]["refund_reason"] == XferStatus.BAD_LIQUIDITY
    assert (
        timedelta(0)
        < database.clock() - rows(database, Event.at, of=moved["transfer_id"])[-1].at
        < timedelta(hours=1)
    )
