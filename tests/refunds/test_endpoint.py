"""GET /v2/getRefundEvidence."""

from __future__ import annotations

from typing import Any

import pytest

from app.values.codes import SendKind, XferStatus
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import address_of, checksum_address
from tests.api.shapes import EVIDENCE, ZEROES, assert_refused
from tests.feed.services.world import SENDER, about, event, released, token
from tests.refunds.kit import PEOPLE, Gateway, Story, rotation

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
