"""POST /v2/getTransferStatus."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import insert

from app.db.database import Database
from app.db.engine import writing
from app.transfers.models import Refund, Transfer
from app.values.codes import BridgeType, TransferHistoryStatus, XferStatus
from tests.api.shapes import STATUS, ZEROES, assert_refused
from tests.api.world import ADDRESS, NOW, configure, event, network, released, report_events, sent, vector
from tests.builders import network as build

pytestmark = pytest.mark.both_interfaces

ID = "0x" + "5a" * 32
LINK = "https://etherscan.io/tx/0x" + "ab" * 32
PAYOUT = "https://bscscan.com/tx/0x" + "cd" * 32


def get_status(client: FlaskClient, transfer_id: str = ID) -> dict[str, Any]:
    response = client.post(STATUS, json={"transfer_id": transfer_id})
    assert response.status_code == 200
    assert "X-Gateway-Reason" not in response.headers
    body: dict[str, Any] = response.get_json()
    assert list(body) == ["err", *ZEROES[STATUS]]
    return body


def test_status_equals_recorded_response(app: Flask, client: FlaskClient, strict: FlaskClient) -> None:
    recorded = vector("status_completed")
    transfer_id = "0x" + recorded["request"]["transfer_id"].lower()
    source = recorded["response"]["src_block_tx_link"].rsplit("/", 1)[1]
    payout = recorded["response"]["dst_block_tx_link"].rsplit("/", 1)[1]
    report_events(
        app,
        sent(transfer_id, src_chain_id=250, dst_chain_id=42161, src_tx_hash=source),
        released(transfer_id, timedelta(seconds=1), dst_tx_hash=payout),
    )
    response = client.post(STATUS, json=recorded["request"])
    assert response.get_json() == recorded["response"] | {"bridge_type": 1}
    response = strict.post(STATUS, json=recorded["request"])
    assert response.get_json() == recorded["response"]


def status_event(word: XferStatus) -> dict[str, Any]:
    return event("network.status", timedelta(seconds=30), transfer_id=ID, xfer_status=word.value)


SUBMITTED = event("transfer.submitted", timedelta(minutes=2), transfer_id=ID, src_chain_id=1)
FAILED = event("transfer.failed", transfer_id=ID)
CONFIRMED = event("transfer.confirmed", transfer_id=ID)
DELAYED = event("transfer.delayed", transfer_id=ID)
REQUESTED = event("refund.requested", transfer_id=ID)
REFUNDING = event("refund.submitted", transfer_id=ID, tx_hash="0x" + "ef" * 32)
REFUNDED = event("refund.completed", transfer_id=ID)

SENT = {"block_delay": 12, "src_block_tx_link": LINK, "bridge_type": 1}
STORIES = [
    ([SUBMITTED], 1, {"block_delay": 12}),
    ([sent(ID)], 1, SENT),
    ([SUBMITTED, FAILED], 2, {"block_delay": 12}),
    ([sent(ID), CONFIRMED], 3, SENT),
    ([sent(ID), status_event(XferStatus.OK_TO_RELAY)], 3, SENT),
    ([sent(ID), status_event(XferStatus.SUCCESS)], 4, SENT),
    ([sent(ID), released(ID, timedelta(seconds=1))], 5, SENT | {"dst_block_tx_link": PAYOUT}),
    ([sent(ID), status_event(XferStatus.BAD_TOKEN)], 6, SENT | {"refund_reason": 5}),
    ([sent(ID), status_event(XferStatus.BAD_SLIPPAGE), REQUESTED], 7, SENT),
    ([sent(ID), REFUNDING], 9, SENT),
    ([sent(ID), REFUNDED], 10, SENT),
    ([sent(ID), DELAYED], 11, SENT),
]


@pytest.mark.parametrize(("story", "status", "fields"), STORIES)
def test_status_follows_the_events(
    app: Flask, client: FlaskClient, story: list[dict[str, Any]], status: int, fields: dict[str, Any]
) -> None:
    report_events(app, *story)
    assert get_status(client) == {"err": None} | ZEROES[STATUS] | {"status": status} | fields


@pytest.mark.parametrize(
    ("kind", "src", "dst", "expected"),
    [
        ("pool", 1, 56, BridgeType.POOL),
        ("deposit", 1, 56, BridgeType.DEPOSIT_MINT),
        ("burn", 1, 56, BridgeType.UNDEFINED),  # no pair has this way
        ("burn", 250, 1, BridgeType.BURN_WITHDRAW),
        ("burn", 250, 42161, BridgeType.BURN_MINT),
    ],
)
def test_status_has_bridge_type(
    app: Flask, client: FlaskClient, kind: str, src: int, dst: int, expected: BridgeType
) -> None:
    pairs = [build.pair(1, pegged, "USDT", ADDRESS, ADDRESS) for pegged in (250, 42161)]
    configure(app, network() | {"pegged_pairs": pairs})
    report_events(app, sent(ID, kind=kind, src_chain_id=src, dst_chain_id=dst))
    assert get_status(client)["bridge_type"] == expected


@pytest.mark.parametrize("spelling", [ID, ID[2:], ID.upper(), ID[2:].upper(), "0x" + ID[2:].upper()])
def test_id_is_read_in_every_spelling(app: Flask, client: FlaskClient, spelling: str) -> None:
    report_events(app, sent(ID))
    assert get_status(client, spelling)["status"] == 1


def test_unknown_keys_and_charset_are_ignored(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID))
    response = client.post(
        STATUS + "?transfer_id=zz",
        data=f'{{"x": [1.5, null, 123456789012345678901234567890], "transfer_id": "{ID}"}}',
        content_type="Application/JSON; charset=utf-8",
    )
    assert response.get_json()["status"] == 1


def test_unknown_id_reports_freshness(app: Flask, client: FlaskClient) -> None:
    report_events(
        app,
        event("chain.head", timedelta(seconds=12), chain_id=1, block=5),
        event("chain.head", timedelta(seconds=200), chain_id=56, block=5),
        event("chain.head", timedelta(days=3), chain_id=999, block=5),
    )
    message = assert_refused(
        client.post(STATUS, json={"transfer_id": "0" * 64}), 200, "transfer_not_found", STATUS
    )
    seen = "Ethereum 12 s ago (block 5), BNB Chain 3 min ago (block 5), chain 999 3 d ago (block 5)"
    assert message == f"transfer not found; newest events: {seen}"


def test_unknown_chains_do_not_lengthen_answer(app: Flask, client: FlaskClient) -> None:
    """3,000 heads of such chains made it 69 kB long."""
    unknown = (
        event("chain.head", timedelta(seconds=1), chain_id=10_000 + number, block=5) for number in range(300)
    )
    report_events(app, *unknown, event("chain.head", timedelta(days=2), chain_id=1, block=5))
    message = assert_refused(
        client.post(STATUS, json={"transfer_id": "0" * 64}), 200, "transfer_not_found", STATUS
    )
    assert "Ethereum 2 d ago" in message
    assert message.endswith(", and 277 more")
    assert len(message) < 1000


def test_unknown_id_before_any_event(client: FlaskClient) -> None:
    message = assert_refused(
        client.post(STATUS, json={"transfer_id": "0" * 64}), 200, "transfer_not_found", STATUS
    )
    assert message == "transfer not found; no chain has reported yet"


def test_status_on_unconfigured_chains(app: Flask, client: FlaskClient) -> None:
    report_events(app, sent(ID, src_chain_id=7777, dst_chain_id=8888))
    assert get_status(client) == {"err": None} | ZEROES[STATUS] | {"status": 1, "bridge_type": 1}


@pytest.mark.parametrize("status", TransferHistoryStatus)
def test_reason_and_evidence_follow_the_status(
    client: FlaskClient, status: TransferHistoryStatus, database: Database
) -> None:
    """Also where a row holds more: the reason only at 6, the evidence only at 8."""
    key = bytes.fromhex(ID[2:])
    with writing(database.engine) as connection:
        connection.execute(
            insert(Transfer).values(
                transfer_id=key,
                status=status,
                refund_reason=XferStatus.BAD_TOKEN,
                src_chain_id=1,
                updated_at=NOW,
            )
        )
        connection.execute(
            insert(Refund).values(
                transfer_id=key,
                wd_onchain=b"\x08\xff\xfe",
                sorted_sigs=["c2ln"],
                signers=["cw=="],
                powers=["AQ=="],
            )
        )
    body = get_status(client)
    assert body["status"] == status
    assert body["refund_reason"] == (5 if status == 6 else 0)
    evidence = {name: body[name] for name in ("wd_onchain", "sorted_sigs", "signers", "powers")}
    if status == 8:
        assert evidence == {
            "wd_onchain": "CP/+",
            "sorted_sigs": ["c2ln"],
            "signers": ["cw=="],
            "powers": ["AQ=="],
        }
    else:
        assert evidence == {"wd_onchain": None, "sorted_sigs": [], "signers": [], "powers": []}
