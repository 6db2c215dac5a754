"""Sends of tokens that nobody lists, towards chains without a pair, and to chains that cannot be configured.

A contract takes all of them, and its refund pays them back: what is served is sent to a contract in an EVM.
"""

from __future__ import annotations

from typing import Any

import pytest

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.reprojection import replay
from app.grpcweb import gateway_pb2
from app.network.document import import_network
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import checksum_address
from tests.actors import TESTER
from tests.applications import Audited, Editing
from tests.feed.services.world import (
    SENDER,
    about,
    address,
    for_send,
    network,
    prepared,
    projections,
    proven,
    released,
    sent,
    signed,
    token,
)
from tests.grpcweb.wire import frame, post
from tests.network.services.network_kit import text
from tests.refunds.bridges import bridge_of, pays, served_call
from tests.refunds.kit import KINDS, PEOPLE, Gateway, Powers, Story, rotation

SET: Powers = {PEOPLE[0]: 1}
UNLISTED = bytes.fromhex(address(7777)[2:])
FAR = 2**64 - 1


def listed(gateway: Gateway) -> dict[str, Any]:
    """The one transfer of the history, of which both interfaces show the same."""
    answer = gateway.client.get("/v2/transferHistory", query_string={"acct_addr": SENDER, "page_size": 9})
    [found] = answer.get_json()["history"]
    query = gateway_pb2.TransferHistoryRequest(page_size=9, acct_addr=[SENDER])
    carried = post(gateway.client, "TransferHistory", frame(query.SerializeToString()))
    assert carried.message is not None
    [row] = gateway_pb2.TransferHistoryResponse.FromString(carried.message).history
    ends = ((row.src_send_info, found["src_send_info"]), (row.dst_received_info, found["dst_received_info"]))
    for one, other in ends:
        assert (one.chain.id, one.token.symbol) == (other["chain"]["id"], other["token"]["symbol"])
    assert isinstance(found, dict)
    return found


def refund(gateway: Gateway, story: Story, send: dict[str, Any], **request: Any) -> dict[str, Any]:
    """The status once the refund of the send is signed, which the contract pays."""
    wd_onchain = story.request(**request)
    gateway.take(rotation(story.chain, SET), send, prepared(1, wd_onchain))
    gateway.take(signed(1, story.signature(PEOPLE[0], wd_onchain)))
    status = gateway.status(story)
    assert status["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    bridge = bridge_of(story, SET, token=request.get("token", story.token))
    assert pays(bridge, served_call(status))
    return status


@pytest.mark.parametrize("kind", KINDS)
def test_unlisted_token_is_found_and_refunded(gateway: Gateway, kind: SendKind) -> None:
    story = Story(kind)
    send = story.sent(token=checksum_address(UNLISTED), contract=checksum_address(story.contract))
    del send["symbol"]
    refund(gateway, story, send, token=UNLISTED)
    assert listed(gateway)["src_send_info"]["token"]["symbol"] == checksum_address(UNLISTED)


@pytest.mark.every_database
@pytest.mark.parametrize("dst", [0, 2**63, FAR])
def test_send_to_unknown_chain_is_refunded(
    gateway: Gateway, dst: int, database: Database, audited: Audited
) -> None:
    """To one that cannot be configured. It is found, too."""
    story = Story(SendKind.POOL)
    gateway.take(about(1, "transfer.submitted", src_chain_id=1, dst_chain_id=dst))
    assert gateway.status(story)["status"] == Status.TRANSFER_SUBMITTING
    gateway.take(sent(1, event_id="first", dst_chain_id=dst), about(1, "network.status", xfer_status=2))
    assert gateway.status(story)["status"] == Status.TRANSFER_WAITING_FOR_FUND_RELEASE
    refund(gateway, story, story.sent(dst_chain_id=dst))
    assert listed(gateway)["dst_received_info"]["chain"]["id"] == 0
    gateway.take(released(1, block=10**9, chain_id=dst))
    assert gateway.status(story)["status"] == Status.TRANSFER_COMPLETED
    with reading(database.engine) as connection:
        before = projections(connection)
    assert before["latency_records"][0][1:3] == (1, dst)
    pair = {"src_chain_id": 1, "dst_chain_id": dst}
    latency = gateway.client.get("/v2/getLatest7DayTransferLatencyForQuery", query_string=pair)
    assert (latency.status_code, latency.headers["X-Gateway-Reason"]) == (200, "chain_unknown")
    replay(*audited, actor=TESTER)
    with reading(database.engine) as connection:
        assert projections(connection) == before


def test_listing_token_supplies_the_symbol(
    gateway: Gateway, database: Database, audited: Audited, editing: Editing
) -> None:
    send = proven(1, token=address(7777))
    del send["symbol"]
    gateway.take(send)
    assert listed(gateway)["src_send_info"]["token"]["symbol"] == address(7777)
    document = network()
    document["tokens"] += [
        document["tokens"][0] | {"chain_id": chain, "symbol": "NEW", "address": address(7777)}
        for chain in (1, 2)
    ]
    import_network(*editing, text(document), actor=TESTER)
    assert listed(gateway)["src_send_info"]["token"]["symbol"] == "NEW"
    with reading(database.engine) as connection:
        before = projections(connection)
    assert [row[:2] for row in before["pool_counters"]] == [(1, "NEW")]
    replay(*audited, actor=TESTER)
    with reading(database.engine) as connection:
        assert projections(connection) == before


def test_symbol_and_address_must_agree(gateway: Gateway) -> None:
    false = proven(1, token=address(7777))
    assert "token: is not what is configured as USDT" in gateway.feed(false).refused[0].reason
    known: dict[str, Any] = {"token": token(1, "USDT")}
    gateway.take(sent(2, **known))
    assert "symbol: must be given" in gateway.feed(sent(3, symbol=None)).refused[0].reason
    more = sent(2) | {"id": sent(2, **known)["id"], "token": None, "max_slippage": 5}
    assert gateway.feed(more).repeated == 1


@pytest.mark.parametrize(
    "changes", [{"nonce": 8}, {"amount": "5"}, {"sender": address(9)}, {"dst_chain_id": 3}]
)
def test_feed_refuses_send_contradicting_transfer_id(gateway: Gateway, changes: dict[str, Any]) -> None:
    assert gateway.feed(proven(7) | changes).refused[0].reason.startswith("transfer_id: is not the id")
    gateway.take(proven(7))


ELSEWHERE = [
    ("transfer.released", {"dst_tx_hash": "0x" + "ee" * 32, "chain_id": 1}),
    ("transfer.delayed", {"chain_id": 3}),
    ("transfer.confirmed", {"chain_id": 2}),
    ("refund.submitted", {"tx_hash": "0x" + "ee" * 32, "chain_id": 2}),
    ("refund.delayed", {"delayed_id": "0x" + "ee" * 32, "chain_id": 2}),
    ("refund.completed", {"chain_id": 2}),
]


@pytest.mark.parametrize("order", ["the send first", "the send last"])
@pytest.mark.parametrize(("kind", "fields"), ELSEWHERE)
def test_report_from_wrong_chain_is_ignored(
    gateway: Gateway, kind: str, fields: dict[str, Any], order: str, database: Database
) -> None:
    send = proven(1)
    elsewhere = for_send(send, about(1, kind, block=60_000_000, **fields))
    gateway.take(*((send, elsewhere) if order == "the send first" else (elsewhere, send)))
    answer = gateway.client.post(
        "/v2/getTransferStatus", json={"transfer_id": send["transfer_id"]}
    ).get_json()
    assert (answer["status"], answer["dst_block_tx_link"]) == (Status.TRANSFER_SUBMITTING, "")
    with reading(database.engine) as connection:
        found = projections(connection)
    assert [row[:2] for row in found["chain_progress"]] == [(1, 100)]
    [anomaly] = found["anomalies"]
    assert anomaly[0] == "read_on_another_chain"


def test_deposit_without_pair_is_refunded(gateway: Gateway) -> None:
    story = Story(SendKind.DEPOSIT)
    refund(gateway, story, story.sent(dst_chain_id=77, contract=checksum_address(story.contract)))


def test_contradiction_across_reports_is_refused(gateway: Gateway) -> None:
    first, second = sent(1) | {"id": "x"}, sent(1) | {"id": "x", "symbol": None, "token": address(7777)}
    gateway.take(first)
    assert gateway.feed(second).refused[0].reason.startswith("token: is not what is configured")
