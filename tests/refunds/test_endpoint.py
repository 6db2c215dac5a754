"""GET /v2/getRefundEvidence: the answer, and the call that it carries."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from app.grpcweb.gateway_pb2 import GetTransferStatusRequest, GetTransferStatusResponse
from app.values.codes import SendKind, XferStatus
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import address_of, checksum_address
from tests.api.shapes import EVIDENCE, ZEROES, assert_refused
from tests.feed.services.world import SENDER, about, event, released, token
from tests.grpcweb.wire import frame, post
from tests.refunds.bridges import bridge_of, pays, served_call
from tests.refunds.kit import KINDS, PEOPLE, Gateway, Powers, Story, rotation

STORY = Story(SendKind.POOL)
POWERS = {PEOPLE[0]: 50, PEOPLE[1]: 30, PEOPLE[2]: 20}
ORIGIN = {"Origin": "https://wallet.example"}


def test_the_whole_answer(gateway: Gateway) -> None:
    gateway.take(rotation(1, POWERS), STORY.sent(), STORY.prepared(), STORY.signed(PEOPLE[0]))
    gateway.take(STORY.signed(PEOPLE[1]))
    answer = gateway.evidence(STORY)
    assert list(answer) == ["err", *ZEROES[EVIDENCE]]
    assert (answer["valid"], answer["proven"], answer["status"]) == (
        True,
        True,
        Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
    )
    assert (answer["kind"], answer["chain_id"]) == ("pool", 1)
    assert answer["contract"] == checksum_address(STORY.contract)
    assert answer["contract_role"] == "pool bridge"
    assert answer["domain"]["text"] == "WithdrawMsg"
    assert [each["name"] for each in answer["call"]["arguments"]] == ["wdmsg", "sigs", "signers", "powers"]
    assert answer["request"] == {
        "chainid": "1",
        "seqnum": "7",
        "receiver": SENDER,
        "token": token(1, "USDT"),
        "amount": "1000000000",
        "refid": STORY.id,
    }
    assert (answer["power_signed"], answer["power_total"], answer["quorum"]) == ("80", "100", "67")
    assert (answer["validator_set_version"], answer["missing"]) == (1, [])
    assert answer["not_signed"] == [checksum_address(address_of(PEOPLE[2]))]


def decision(status: XferStatus) -> dict[str, Any]:
    return about(1, "network.status", xfer_status=int(status))


SUBMITTED = about(1, "transfer.submitted", src_chain_id=1)
WITHOUT_A_REFUND: list[tuple[list[dict[str, Any]], int, str]] = [
    (
        [STORY.sent(), event("chain.reorged", chain_id=1, from_block=1)],
        0,
        "no refund was requested: the transfer",
    ),
    ([SUBMITTED], 1, "no refund was requested: the transfer's status is 1 (TRANSFER_SUBMITTING)"),
    ([SUBMITTED, about(1, "transfer.failed")], 2, "nothing to refund"),
    ([STORY.sent(), about(1, "transfer.confirmed")], 3, "no refund was requested"),
    ([STORY.sent(), decision(XferStatus.SUCCESS)], 4, "no refund was requested"),
    ([STORY.sent(), released(1)], 5, "the transfer was completed, so there is nothing to claim"),
    ([STORY.sent(), decision(XferStatus.BAD_TOKEN)], 6, "was not prepared yet: no refund request is known"),
    ([STORY.sent(), about(1, "refund.requested")], 7, "no refund request is known yet"),
    ([STORY.sent(), about(1, "refund.submitted", tx_hash="0x" + "dd" * 32)], 9, "already in a block"),
    ([STORY.sent(), decision(XferStatus.REFUND_DONE)], 10, "the refund has been paid"),
    ([STORY.sent(), about(1, "transfer.delayed")], 11, "waits in the contract's delay queue"),
]


@pytest.mark.parametrize(
    ("events", "status", "words"), WITHOUT_A_REFUND, ids=[str(case[1]) for case in WITHOUT_A_REFUND]
)
def test_missing_refund_is_explained(
    gateway: Gateway, events: list[dict[str, Any]], status: int, words: str
) -> None:
    gateway.take(*events)
    assert gateway.status(STORY)["status"] == status
    answer = gateway.evidence(STORY)
    assert (answer["err"], answer["valid"], answer["proven"]) == (None, False, False)
    assert (answer["request"], answer["digest"], answer["not_signed"]) == (None, None, [])
    (reason,) = answer["missing"]
    assert words in reason


def test_an_unknown_transfer(gateway: Gateway) -> None:
    response = gateway.client.get(EVIDENCE, query_string={"transfer_id": "0" * 64})
    message = assert_refused(response, 200, "transfer_not_found", EVIDENCE)
    assert message == "transfer not found; no chain has reported yet"
    gateway.take(STORY.sent())
    message = assert_refused(
        gateway.client.get(EVIDENCE, query_string={"transfer_id": "0" * 64}),
        200,
        "transfer_not_found",
        EVIDENCE,
    )
    assert "Chain 1 1 min ago" in message


WITH_NOBODY: Powers = dict(zip(PEOPLE, (0, 40, 0, 35, 25), strict=False))
"""Validators without power are in the set that the contract hashes."""


def answers_of_both_interfaces(gateway: Gateway, story: Story) -> tuple[dict[str, Any], list[bytes]]:
    request = GetTransferStatusRequest(transfer_id=story.id)
    carried = post(gateway.client, "GetTransferStatus", frame(request.SerializeToString()))
    assert carried.message is not None
    return gateway.status(story), list(GetTransferStatusResponse.FromString(carried.message).powers)


def test_zero_power_is_one_byte_everywhere(gateway: Gateway) -> None:
    story = Story(SendKind.POOL)
    gateway.prove(story, WITH_NOBODY)
    status, carried = answers_of_both_interfaces(gateway, story)
    powers = [b64decode(power) for power in status["powers"]]
    assert powers == carried
    assert sorted(powers) == [b"\0", b"\0", b"\x19", b"#", b"("]
    # What `BigInt("0x" + hex)` and ethers do with each: no bytes are a SyntaxError to them.
    assert all(int("0x" + power.hex(), 16) >= 0 for power in powers)
    assert pays(bridge_of(story, WITH_NOBODY), served_call(status))


@pytest.mark.parametrize("kind", KINDS)
def test_shorter_call_costs_less_gas(gateway: Gateway, kind: SendKind) -> None:
    story = Story(kind)
    powers: Powers = dict(zip(PEOPLE, (5, 5, 30, 5, 30, 5, 20), strict=False))
    gateway.prove(story, powers)
    status, evidence = gateway.status(story), gateway.evidence(story)
    sigs = next(each["value"] for each in evidence["call"]["arguments"] if each["name"] == "sigs")
    strong = [checksum_address(address_of(PEOPLE[n])) for n in (2, 4, 6)]
    assert sigs == [row["signature"] for row in evidence["signers"] if row["address"] in strong]
    assert len(status["sorted_sigs"]) == 7, "the status goes on to list all"

    bridge = bridge_of(story, powers)
    whole = bridge.at.simulate(bridge.data(served_call(status)))
    short = bridge.at.simulate(bytes.fromhex(evidence["call"]["data"][2:]))
    assert whole.names == short.names
    saved = 1 - short.gas / whole.gas
    assert saved > 0.07, f"{whole.gas} and {short.gas}"


def test_request_before_contradicting_send_is_void(gateway: Gateway) -> None:
    """It is stored while nothing is known that it contradicts. Then it counts for nothing."""
    stolen = STORY.request(receiver=bytes(19) + b"\1")
    gateway.take(STORY.prepared(stolen), *(STORY.signed(key, stolen) for key in POWERS))
    assert gateway.status(STORY)["status"] == Status.TRANSFER_REQUESTING_REFUND
    gateway.take(rotation(STORY.chain, POWERS), STORY.sent())
    assert gateway.status(STORY)["status"] == Status.TRANSFER_SUBMITTING
    evidence = gateway.evidence(STORY)
    assert "contradicts the transfer" in evidence["missing"][0]
    assert len(evidence["contradictions"]) == 1
