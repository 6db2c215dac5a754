"""Transfers by their transactions, several statuses at once, and GET /v2/getTransfer."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import insert, update

from app.db.database import Database
from app.db.engine import writing
from app.feed.services.ingest import Intake, ingest_lines
from app.http.application import part_of
from app.transfers.rules.certainty import WATCHER
from app.watcher.models import ChainWatch
from tests.api.shapes import EVIDENCE, FIND, HISTORY, STATUS, STATUSES, ZEROES, assert_refused
from tests.api.world import ADDRESS, event, released, report_events, sent
from tests.grpcweb.wire import call as grpc_call
from tests.grpcweb.wire import read as grpc_read

ID = "0x" + "5a" * 32
OTHER = "0x" + "5b" * 32
SEND, PAYOUT = "0x" + "ab" * 32, "0x" + "cd" * 32
REFUND = "0x" + "ef" * 32
SOLANA = "5wHu1qwD7q2ggbJyc8X4nzrUmNMrqUeX1BCNNzGkVQ9JYtGoxA5fNZaAqFqFeFeWLSJJw8Lw7SAqbzsKpLRNQyN"


def status_of(client: FlaskClient, **fields: Any) -> dict[str, Any]:
    response = client.post(STATUS, json=fields)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.get_json()
    return body


def find(client: FlaskClient, query: str) -> dict[str, Any]:
    response = client.get(f"{FIND}?{query}")
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.get_json()
    assert list(body) == ["err", *ZEROES[FIND]]
    return body


def found(client: FlaskClient, query: str) -> list[str]:
    return [transfer["transfer_id"] for transfer in find(client, query)["transfers"]]


@pytest.mark.parametrize("spelling", [SEND, SEND[2:], SEND.upper(), "0X" + SEND[2:], SEND[2:].upper()])
@pytest.mark.parametrize("chain_id", [1, "1", 1.0])
def test_status_by_transaction_equals_by_id(
    app: Flask, client: FlaskClient, spelling: str, chain_id: float | str
) -> None:
    report_events(
        app, sent(ID), event("network.status", transfer_id=ID, xfer_status=4), sent(OTHER, src_tx_hash=REFUND)
    )
    by_id = status_of(client, transfer_id=ID)
    assert (by_id["status"], by_id["refund_reason"]) == (6, 4)
    assert status_of(client, tx_hash=spelling, src_chain_id=chain_id) == by_id
    assert status_of(client, transfer_id="", tx_hash=spelling, src_chain_id=chain_id) == by_id
    assert status_of(client, transfer_id=None, tx_hash=spelling, src_chain_id=chain_id) == by_id


def test_id_takes_precedence_over_transaction(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID))
    assert status_of(client, transfer_id=ID, tx_hash=PAYOUT, src_chain_id=56)["status"] == 1
    assert status_of(client, transfer_id=ID, tx_hash=[], src_chain_id=None)["status"] == 1


def test_hashes_other_than_hex_keep_case(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID, src_tx_hash=SOLANA))
    assert status_of(client, tx_hash=SOLANA, src_chain_id=1)["status"] == 1
    assert status_of(client, tx_hash=SOLANA.lower(), src_chain_id=1)["err"]["code"] == 500
    assert found(client, f"key={SOLANA}") == [ID]
    assert found(client, f"key={SOLANA.upper()}") == []


def test_first_transfer_in_block_is_answered(app: Flask, client: FlaskClient) -> None:
    """Of several in one transaction."""
    order = (10, 9, 100)
    report_events(
        app,
        *(
            {**sent(f"0x{n:064x}"), "id": f"1:0xb10c:{SEND}:{place}"}
            for n, place in enumerate(order)
        ),
        event("network.status", transfer_id=f"0x{1:064x}", xfer_status=3),
    )  # fmt: skip
    assert status_of(client, tx_hash=SEND, src_chain_id=1)["refund_reason"] == 3
    assert len(found(client, f"key={SEND}")) == len(order)
    response = client.post(STATUS, json={"tx_hash": SEND, "src_chain_id": 1})
    assert response.headers["X-Transfer-Id"] == f"0x{1:064x}"
    assert response.headers["X-Transfer-Count"] == str(len(order))


def test_count_of_sends_is_told_of_hash_as_id(app: Flask, client: FlaskClient) -> None:
    report_events(app, *({**sent(f"0x{n:064x}"), "id": f"1:0xb10c:{SEND}:{n}"} for n in range(2)))
    response = client.post(STATUS, json={"transfer_id": SEND})
    message = assert_refused(response, 200, "transfer_not_found", STATUS)
    assert message.endswith(f"of transfer 0x{0:064x}, the first of 2; send that as transfer_id")
    assert response.headers["X-Transfer-Count"] == "2"
    assert "X-Transfer-Count" in response.headers["Access-Control-Expose-Headers"]


def test_one_send_has_no_count(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID))
    by_transaction = client.post(STATUS, json={"tx_hash": SEND, "src_chain_id": 1}).headers
    assert (by_transaction["X-Transfer-Id"], by_transaction.get("X-Transfer-Count")) == (ID, None)
    by_id = client.post(STATUS, json={"transfer_id": ID}).headers
    assert not {"X-Transfer-Id", "X-Transfer-Count"} & set(dict(by_id))


@pytest.mark.parametrize(
    "query",
    [
        f"transfer_id={ID}",
        f"transfer_id={ID[2:].upper()}&tx_hash=",
        f"tx_hash={SEND}&src_chain_id=1",
        f"transfer_id={ID}&tx_hash=!&src_chain_id=x",  # not looked at
    ],
)
@pytest.mark.parametrize("prefix", ["/v1", "/v2"])
def test_status_by_get_equals_that_by_post(app: Flask, client: FlaskClient, query: str, prefix: str) -> None:
    report_events(app, sent(ID))
    response = client.get(f"{prefix}/getTransferStatus?{query}")
    assert response.get_json() == status_of(client, transfer_id=ID)
    assert response.get_json()["status"] == 1
    assert response.headers["X-Transfer-Next-Actor"] == "network"


NO_HASH = "must be a hash: 32 bytes in hex, or up to 128 letters and digits"
NO_NUMBER = "must be a whole number in the digits 0 to 9"
NO_ID = "must be a string of 32 bytes in hex (64 digits, with or without 0x)"
IDS = "transfer_ids: must be a list of 1 to 100 transfer ids"
MALFORMED: list[tuple[str, str | dict[str, Any], str]] = [
    # path, query or body, message
    (STATUS, "", "transfer_id: is missing"),
    (STATUS, "transfer_id=0x12", f"transfer_id: {NO_ID}"),
    (STATUS, f"tx_hash={SEND}", "src_chain_id: is missing"),
    (STATUS, "src_chain_id=1", "tx_hash: is missing"),
    (STATUS, f"transfer_id={ID}&transfer_id={ID}", "transfer_id: must be given once"),
    (STATUS, {"tx_hash": SEND}, "src_chain_id: is missing"),
    (STATUS, {"src_chain_id": 1}, "tx_hash: is missing"),
    (STATUS, {"tx_hash": SEND, "src_chain_id": 2**32}, "src_chain_id: must be at most 4294967295"),
    (STATUS, {"tx_hash": SEND, "src_chain_id": -1}, f"src_chain_id: {NO_NUMBER}"),
    (STATUS, {"tx_hash": SEND, "src_chain_id": 1.5}, f"src_chain_id: {NO_NUMBER}"),
    (STATUS, {"tx_hash": SEND, "src_chain_id": True}, f"src_chain_id: {NO_NUMBER}"),
    (STATUS, {"tx_hash": 5, "src_chain_id": 1}, f"tx_hash: {NO_HASH}"),
    (STATUS, {"tx_hash": "a b", "src_chain_id": 1}, f"tx_hash: {NO_HASH}"),
    (STATUS, {"tx_hash": "x" * 129, "src_chain_id": 1}, f"tx_hash: {NO_HASH}"),
    (STATUS, {}, "transfer_id: is missing"),
    *((STATUSES, {"transfer_ids": nothing}, "transfer_ids: is missing") for nothing in (None, "")),
    (STATUSES, {}, "transfer_ids: is missing"),
    *((STATUSES, {"transfer_ids": no_list}, IDS) for no_list in (ID, {"0": ID}, [], [ID] * 101)),
    (
        STATUSES,
        {"transfer_ids": [ID, "0x12", None]},
        f"transfer_ids: number 2 {NO_ID}, number 3 is missing",
    ),
    (FIND, "", "key: is missing"),
    (FIND, "key=&chain_id=1", "key: is missing"),
    *((FIND, f"key={key}", f"key: {NO_HASH}") for key in ("a+b", "%00", "a" * 129)),
    (FIND, "key=a&key=b", "key: must be given once"),
    (FIND, "key=a&chain_id=4294967296", "chain_id: must be at most 4294967295"),
]


@pytest.mark.parametrize(("path", "request_", "message"), MALFORMED, ids=lambda value: str(value)[:40])
def test_malformed_look_ups_are_refused(
    client: FlaskClient, path: str, request_: str | dict[str, Any], message: str
) -> None:
    by_query = isinstance(request_, str)
    response = client.get(f"{path}?{request_}") if by_query else client.post(path, json=request_)
    assert assert_refused(response, 400, "bad_request", path) == message


def test_retracted_transaction_is_known(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID, block=100), event("chain.reorged", timedelta(), chain_id=1, from_block=90))
    assert status_of(client, tx_hash=SEND, src_chain_id=1) == {"err": None} | ZEROES[STATUS] | {
        "block_delay": 12,
        "bridge_type": 1,
    }
    assert find(client, f"key={SEND}")["state"] == "known"


@pytest.mark.parametrize(
    ("tx_hash", "chain_id"), [(SEND, 56), (SEND, 0), (PAYOUT, 1), (PAYOUT, 56), ("x", 1)]
)
def test_unknown_transaction_is_not_found(
    app: Flask, client: FlaskClient, tx_hash: str, chain_id: int
) -> None:
    report_events(app, sent(ID), released(ID, timedelta(seconds=1)))
    response = client.post(STATUS, json={"tx_hash": tx_hash, "src_chain_id": chain_id})
    message = assert_refused(response, 200, "transfer_not_found", STATUS)
    name = {0: "chain 0", 1: "Ethereum", 56: "BNB Chain"}[chain_id]
    seen = {0: "chain 0 has not reported anything yet"}.get(chain_id, f"newest events: {name} ")
    assert message.startswith(f"transfer not found; {seen}") and message.count(",") == 0


def test_statuses_have_the_requested_order(app: Flask, client: FlaskClient) -> None:
    """Each equals the status of a single request."""
    report_events(app, sent(ID), released(ID, timedelta(seconds=1)), sent(OTHER))
    ids = [OTHER, ID[2:].upper(), "0x" + "00" * 32, ID]
    body = client.post(STATUSES, json={"transfer_ids": ids}).get_json()
    assert list(body) == ["err", "statuses"]
    assert body["err"] is None
    assert [each.pop("transfer_id") for each in body["statuses"]] == [OTHER, ID, ids[2], ID]
    assert [each["bridge_type"] for each in body["statuses"]] == [1, 1, 0, 1]
    assert [each.pop("next_actor") for each in body["statuses"]] == ["network", "nobody", "", "nobody"]
    for each in body["statuses"]:
        del each["terminal"], each["final_by"], each["next_poll_seconds"], each["as_of"]
    assert body["statuses"] == [status_of(client, transfer_id=transfer_id) for transfer_id in ids]


def test_transfer_is_found_by_every_key(app: Flask, client: FlaskClient) -> None:
    report_events(
        app,
        sent(ID),
        event("network.status", transfer_id=ID, xfer_status=4),
        event("refund.submitted", timedelta(seconds=1), transfer_id=ID, tx_hash=REFUND),
        sent(OTHER, src_tx_hash=OTHER),
        released(OTHER, timedelta(seconds=1)),
    )
    for query in (ID, ID[2:].upper(), SEND, SEND[2:], REFUND, f"{ID}&chain_id=1", f"{SEND}&chain_id=1"):
        assert found(client, f"key={query}") == [ID]
    for query in (f"{SEND}&chain_id=56", f"{PAYOUT}&chain_id=1", f"{ID}&chain_id=250", "0x" + "12" * 32):
        assert found(client, f"key={query}") == []
    assert found(client, f"key={OTHER}") == found(client, f"key={PAYOUT}&chain_id=56") == [OTHER]


REPORTED = {
    "level": "reported",
    "event": "transfer.released",
    "reported_by": "reporter",
    "chain_id": 56,
    "block": None,
    "as_of_block": None,
}


def certainty_of(client: FlaskClient, key: str) -> dict[str, Any]:
    (transfer,) = find(client, f"key={key}")["transfers"]
    certainty: dict[str, Any] = transfer["certainty"]
    return certainty


@pytest.mark.every_database
def test_certainty_follows_blocks_and_proofs(app: Flask, client: FlaskClient, database: Database) -> None:
    """A payout that the gateway read is proven as soon as its block is, and no longer once it is orphaned."""
    report_events(app, sent(ID, block=70))
    send = REPORTED | {"event": "transfer.sent", "chain_id": 1, "block": 70, "as_of_block": 70}
    assert certainty_of(client, ID) == send
    watching(app, released(ID, timedelta(seconds=50), chain_id=56, block=90))
    read = REPORTED | {"reported_by": "gateway", "block": 90, "as_of_block": 90}
    assert certainty_of(client, ID) == read
    with writing(database.engine) as connection:
        connection.execute(insert(ChainWatch).values(chain_id=56, backfill_from=80, live_from=85))
    assert certainty_of(client, ID) == read
    for proven_to, level in ((89, read), (120, read | {"level": "proven", "as_of_block": 120})):
        with writing(database.engine) as connection:
            connection.execute(update(ChainWatch).values(proven_to=proven_to))
        assert certainty_of(client, ID) == level
    report_events(app, event("chain.reorged", timedelta(), chain_id=56, from_block=90))
    assert certainty_of(client, ID) == send
    report_events(app, event("chain.reorged", timedelta(), chain_id=1, from_block=70))
    nothing = dict.fromkeys(("chain_id", "block", "as_of_block"))
    assert certainty_of(client, ID) == {"level": "unknown", "event": "", "reported_by": "", **nothing}


def test_watcher_proves_only_its_own_events(app: Flask, client: FlaskClient, database: Database) -> None:
    """What another reported earlier stays unproven."""
    report_events(app, sent(ID), released(ID, timedelta(seconds=50), chain_id=56, block=90))
    with writing(database.engine) as connection:
        connection.execute(insert(ChainWatch).values(chain_id=56, live_from=80, proven_to=120))
    assert certainty_of(client, ID) == REPORTED | {"block": 90, "as_of_block": 90}


def watching(app: Flask, *events: dict[str, Any]) -> None:
    """Feed events as the gateway's own watcher does."""
    lines = [json.dumps(each).encode() for each in events]
    verdict = ingest_lines(part_of(app, Database), part_of(app, Intake), lines, WATCHER)
    assert verdict.accepted == len(events)


def test_found_transfer_has_history_and_status(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID), released(ID, timedelta(seconds=1)))
    (transfer,) = find(client, f"key={PAYOUT}")["transfers"]
    (row,) = client.get(f"{HISTORY}?addr={ADDRESS}&page_size=1").get_json()["history"]
    status = status_of(client, transfer_id=ID)
    del status["err"]
    progress = {
        "terminal": True,
        "final_by": "reported",
        "next_actor": "nobody",
        "next_poll_seconds": 0,
        "as_of": "2026-03-08T12:00:00Z",
    }
    assert transfer == row | status | progress | {"certainty": REPORTED, "words": None}
    assert transfer["bridge_type"] == 1


def test_find_has_state_and_read_blocks(app: Flask, client: FlaskClient) -> None:
    assert find(client, f"key={SEND}") == {"err": None} | ZEROES[FIND]
    report_events(
        app,
        event("transfer.submitted", transfer_id=ID, src_chain_id=1, src_tx_hash=SEND),
        event("chain.head", timedelta(seconds=12), chain_id=1, block=21_000_000),
        event("network.status", timedelta(seconds=5), transfer_id=OTHER, xfer_status=1),
    )
    read_to = {"1": {"block": 21_000_000, "at": "2026-03-08T11:59:48Z"}}
    assert find(client, f"key={PAYOUT}") == {
        "err": None, "state": "unknown", "transfers": [], "read_to": read_to,
    }  # fmt: skip
    announced = find(client, f"key={SEND}")
    assert (announced["state"], announced["read_to"]) == ("announced", read_to)
    assert announced["transfers"][0]["status"] == 1
    assert find(client, f"key={SEND}&chain_id=1")["read_to"] == read_to
    assert find(client, f"key={SEND}&chain_id=56")["read_to"] == {}
    report_events(app, sent(ID, block=5), sent("0x" + "5c" * 32, dst_chain_id=250, src_chain_id=250))
    known = find(client, f"key={ID}")
    assert known["state"] == "known"
    assert known["read_to"]["250"] == {"block": None, "at": "2026-03-08T11:59:00Z"}
    assert find(client, f"key={OTHER}")["state"] == "known"


@pytest.mark.parametrize("prefix", ["/v1", "/v2"])
def test_find_reads_transfer_id_as_key(app: Flask, client: FlaskClient, prefix: str) -> None:
    report_events(app, sent(ID), sent(OTHER, src_tx_hash=REFUND))
    path = prefix + FIND[3:]
    by_key = client.get(f"{path}?key={ID}").get_json()
    assert by_key["transfers"][0]["transfer_id"] == ID
    for query in (f"transfer_id={ID}", f"transfer_id={SEND}&chain_id=1", f"key={ID}&transfer_id={OTHER}"):
        assert client.get(f"{path}?{query}").get_json()["transfers"] == by_key["transfers"]
    for query in ("transfer_id=", "key=&transfer_id="):
        assert assert_refused(client.get(f"{path}?{query}"), 400, "bad_request", FIND) == "key: is missing"
    refused = assert_refused(client.get(f"{path}?transfer_id=a+b"), 400, "bad_request", FIND)
    assert refused.startswith("transfer_id: must be a hash")


MEANT = "X-Transfer-Id"


@pytest.mark.every_database
def test_transaction_hash_as_id_names_transfer(app: Flask, client: FlaskClient) -> None:
    """Over both interfaces, by every operation that takes an id."""
    refund = event("refund.submitted", transfer_id=OTHER, tx_hash=REFUND)
    report_events(
        app, sent(ID), released(ID, timedelta(seconds=1)), sent(OTHER, src_tx_hash="0x" + "12" * 32), refund
    )
    for tx_hash, meant in ((SEND, ID), (PAYOUT, ID), ("0x" + "12" * 32, OTHER), (REFUND, OTHER)):
        message = f"transfer not found: this is the hash of a transaction of transfer {meant}; "
        message += "send that as transfer_id"
        fields = {"transfer_id": tx_hash[2:].upper()}
        for response, path in (
            (client.post(STATUS, json=fields), STATUS),
            (client.get(EVIDENCE, query_string=fields), EVIDENCE),
        ):
            assert assert_refused(response, 200, "transfer_not_found", path) == message
            assert response.headers[MEANT] == meant
            assert MEANT in response.headers["Access-Control-Expose-Headers"]
        (one,) = client.post(STATUSES, json={"transfer_ids": [tx_hash]}).get_json()["statuses"]
        assert one["err"] == {"code": 500, "msg": message}
        over_grpc = grpc_call(FlaskClient(app, app.response_class), "GetTransferStatus", transfer_id=tx_hash)
        assert grpc_read(over_grpc, "GetTransferStatus").err.msg == message
        assert over_grpc.response.headers[MEANT] == meant


@pytest.mark.every_database
def test_first_send_in_block_is_named(app: Flask, client: FlaskClient) -> None:
    """Of several sends of one transaction."""
    order = (10, 9, 100)
    sends = [{**sent(f"0x{n:064x}"), "id": f"1:0xb10c:{SEND}:{place}"} for n, place in enumerate(order)]
    report_events(app, *sends, released(OTHER, timedelta(minutes=5), dst_tx_hash=SEND))
    assert client.post(STATUS, json={"transfer_id": SEND}).headers[MEANT] == f"0x{1:064x}"
    both = client.post(STATUSES, json={"transfer_ids": [OTHER[:-1] + "0", SEND]}).get_json()["statuses"]
    assert ["newest events" in each["err"]["msg"] for each in both] == [True, False]
    assert f"0x{1:064x}" in both[1]["err"]["msg"]
