"""A token's scope, seen from outside: what is not shown to be inside is refused, line by line."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select

from app.credentials.rules.ingest_token import UNPROVEN
from app.credentials.services.issuing import issue, new_token
from app.db.database import Database
from app.db.engine import reading
from app.feed.services.ingest import Intake, ingest_lines
from app.feed.services.log import export_log
from app.transfers.models import Anomaly
from app.transfers.rules.events.event_types import EVENT_CLASSES
from app.values.codes import TransferHistoryStatus as Status
from tests.actors import TESTER
from tests.applications import Editing
from tests.feed.services.world import (
    about,
    address,
    event,
    for_send,
    forget_events,
    prepared,
    proven,
    released,
    request,
    sent,
    token,
)
from tests.feed.views.kit import logged, post, verdict


def reasons(client: FlaskClient, token: str, *events: dict[str, Any]) -> dict[int, str]:
    """The reason by line of those that were refused."""
    return {line["line"]: line["reason"] for line in verdict(post(client, events, token))["refused"]}


def limited(editing: Editing, chain: int) -> str:
    """A token for one chain."""
    return issue(*editing, new_token(f"only-{chain}", chains=[chain]), actor=TESTER).text


def answer(client: FlaskClient, send: dict[str, Any]) -> dict[str, Any]:
    """The status of the transfer of a send."""
    found = client.post("/v2/getTransferStatus", json={"transfer_id": send["transfer_id"]}).get_json()
    assert isinstance(found, dict)
    return found


def test_type_outside_scope_is_refused(client: FlaskClient, app: Flask, editing: Editing) -> None:
    token = issue(*editing, new_token("sends", ["transfer.sent", "chain.head"]), actor=TESTER).text
    head = event("chain.head", chain_id=77, block=5)
    result = reasons(client, token, sent(1), released(1), head)
    assert result == {2: "type: transfer.released is outside this token's scope"}
    assert [name for name, _ in logged(app)] == [sent(1)["id"], head["id"]]


FEE: dict[str, Any] = {"symbol": "USDT", "base_fee": "1"}
SIGNERS: dict[str, Any] = {"signers": [address(1)], "powers": ["1"]}


@pytest.mark.parametrize(
    ("reported", "outside"),
    [
        (event("chain.head", chain_id=1, block=1), None),
        (event("chain.head", chain_id=3, block=1), 3),
        (event("chain.reorged", chain_id=2, from_block=1), None),
        (event("chain.reorged", chain_id=3, from_block=1), 3),
        (event("liquidity.added", chain_id=3, symbol="USDT", amount="1"), 3),
        (event("liquidity.withdrawn", chain_id=4, symbol="USDT", amount="1"), 4),
        (event("validators.updated", chain_id=3, **SIGNERS), 3),
        (event("fee.updated", src_chain_id=1, dst_chain_id=2, **FEE), None),
        (event("fee.updated", src_chain_id=1, dst_chain_id=3, **FEE), 3),
        (event("fee.updated", src_chain_id=3, dst_chain_id=1, **FEE), 3),
        (about(9, "transfer.submitted", src_chain_id=1, dst_chain_id=3), None),
        (about(9, "transfer.submitted", src_chain_id=3, dst_chain_id=1), 3),
        (proven(9, src_chain_id=2, dst_chain_id=3), None),
        (proven(9, src_chain_id=3, dst_chain_id=1), 3),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else str(value),
)
def test_chain_outside_scope_is_refused(
    client: FlaskClient, editing: Editing, reported: dict[str, Any], outside: int | None
) -> None:
    token = issue(*editing, new_token("one-and-two", chains=[1, 2]), actor=TESTER).text
    expected = {} if outside is None else {1: f"chain {outside} is outside this token's scope"}
    assert reasons(client, token, reported) == expected


UNPROVEN_SENDS = [
    sent(1),
    {name: value for name, value in proven(1).items() if name != "nonce"},
    proven(1) | {"nonce": "seven"},
    proven(1, src_chain_id=1) | {"kind": "deposit", "symbol": "CELR", "token": token(1, "CELR")},
]


@pytest.mark.parametrize("send", UNPROVEN_SENDS)
def test_unproven_send_is_refused(client: FlaskClient, editing: Editing, send: dict[str, Any]) -> None:
    of_one = limited(editing, 1)
    assert reasons(client, of_one, send) == {1: UNPROVEN}
    assert reasons(client, of_one, proven(1)) == {}


SOURCE: list[tuple[str, dict[str, Any]]] = [
    ("transfer.confirmed", {}),
    ("transfer.failed", {}),
    ("network.status", {"xfer_status": 2}),
    ("refund.requested", {}),
    ("refund.submitted", {"tx_hash": "0x" + "aa" * 32}),
    ("refund.delayed", {"delayed_id": "0x" + "ac" * 32}),
    ("refund.completed", {}),
]
DESTINATION: list[tuple[str, dict[str, Any]]] = [
    ("transfer.delayed", {}),
    ("transfer.released", {"dst_tx_hash": "0x" + "bb" * 32}),
]


@pytest.mark.parametrize(("kind", "fields"), SOURCE + DESTINATION)
def test_early_event_counts_with_its_send(
    client: FlaskClient, app: Flask, editing: Editing, kind: str, fields: dict[str, Any]
) -> None:
    chain, other = (1, 2) if (kind, fields) in SOURCE else (2, 1)
    inside, outside = limited(editing, chain), limited(editing, other)
    send = proven(1)
    early, foreign = (
        for_send(send, about(1, kind, **fields)),
        for_send(send, about(1, kind, at=-60, **fields)),
    )
    assert reasons(client, inside, early) == {}
    assert reasons(client, outside, foreign) == {}
    assert answer(client, send)["err"]["msg"].startswith("transfer not found")
    post(client, [send])
    result = answer(client, send)
    forget_events(app)
    post(client, [send, early])
    assert answer(client, send) == result
    inside, outside = limited(editing, chain), limited(editing, other)
    late = foreign | {"id": "late"}
    assert reasons(client, outside, late) == {1: f"chain {chain} is outside this token's scope"}
    assert reasons(client, inside, late) == {}


def test_event_by_token_of_another_chain_never_counts(client: FlaskClient, editing: Editing) -> None:
    send = proven(1)
    foreign = [for_send(send, about(1, kind, **fields)) for kind, fields in SOURCE + DESTINATION]
    assert reasons(client, limited(editing, 3), *foreign) == {}
    post(client, [send])
    assert answer(client, send)["status"] == Status.TRANSFER_SUBMITTING


def test_refund_request_needs_scope_of_source_chain(client: FlaskClient, editing: Editing) -> None:
    of_one, of_two = limited(editing, 1), limited(editing, 2)
    post(client, [sent(1)])
    ready = prepared(1, request(1))
    assert reasons(client, of_two, ready) == {1: "chain 1 is outside this token's scope"}
    assert reasons(client, of_one, ready) == {}


def test_reporter_affects_nothing_outside_scope(
    client: FlaskClient, database: Database, editing: Editing
) -> None:
    """It neither learns nor raises anything."""
    of_one = limited(editing, 1)
    foreign = proven(1, src_chain_id=2, dst_chain_id=1)
    post(client, [foreign])
    outside = "chain 2 is outside this token's scope"
    assert reasons(client, of_one, foreign, foreign | {"amount": "1"}) == {1: outside, 2: outside}
    with reading(database.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(Anomaly)) == 0


def test_submission_sets_chain_of_failure_only(client: FlaskClient, editing: Editing) -> None:
    of_one, of_two = limited(editing, 1), limited(editing, 2)
    send = proven(1)
    post(client, [for_send(send, about(1, "transfer.submitted", src_chain_id=1, dst_chain_id=2))])
    assert reasons(client, of_one, for_send(send, about(1, "transfer.confirmed"))) == {}
    assert reasons(client, of_two, for_send(send, released(1))) == {}
    assert answer(client, send)["status"] == Status.TRANSFER_SUBMITTING
    failure = for_send(send, about(1, "transfer.failed"))
    assert reasons(client, of_two, failure) == {1: "chain 1 is outside this token's scope"}
    assert reasons(client, of_one, failure) == {}
    assert answer(client, send)["status"] == Status.TRANSFER_FAILED


def test_retracted_send_still_names_chain(client: FlaskClient, editing: Editing) -> None:
    of_one = limited(editing, 1)
    reorg = event("chain.reorged", chain_id=1, from_block=100)
    send = proven(1)
    assert reasons(client, of_one, send, reorg, for_send(send, about(1, "transfer.failed"))) == {}
    assert answer(client, send)["status"] == Status.TRANSFER_FAILED


def test_export_of_quarantined_events_gives_the_same(
    client: FlaskClient, app: Flask, database: Database, intake: Intake, editing: Editing
) -> None:
    of_one = limited(editing, 1)
    refunds = [for_send(proven(n, src_chain_id=n), about(1, "refund.completed")) for n in (1, 2)]
    assert reasons(client, of_one, *refunds) == {}
    exported = list(export_log(database))
    forget_events(app)
    taken = ingest_lines(database, intake, exported, "cli", types=EVENT_CLASSES)
    assert (taken.accepted, taken.refused) == (2, [])
    sends = [proven(1), proven(2, src_chain_id=2, dst_chain_id=3)]
    refunds[1] = for_send(sends[1], refunds[1])
    post(client, sends)
    assert [answer(client, send)["status"] for send in sends] == [
        Status.TRANSFER_REFUNDED,
        Status.TRANSFER_SUBMITTING,
    ]
