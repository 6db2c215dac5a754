"""A withdraw id that is used up in a block, for any use: no refund is served under it any more."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.reprojection import replay
from app.feed.services.retract import retract_ids
from app.transfers.rules.refunds.request_checks import signing_digest
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import address_of, sign_digest
from tests.actors import TESTER
from tests.applications import Audited
from tests.contract.evm.machine import Call, Receipt
from tests.feed.services.world import about, event, projections
from tests.refunds.bridges import WatchedBridge, bridge_of, by_address, pays, served_call
from tests.refunds.kit import PEOPLE, Gateway, Powers, Story, rotation

SET: Powers = {PEOPLE[0]: 1}
STORY, OTHER = (Story(SendKind.POOL, int(digit * 64, 16)) for digit in "12")
"""Their requests agree in everything but the reference: one withdraw id."""

UNKNOWN = bytes.fromhex("77" * 32)
"""A transfer that nobody has reported."""


def refund(story: Story = STORY) -> list[dict[str, Any]]:
    requested = about(story.n, "refund.requested")
    return [sent(story), requested, story.prepared(), story.signed(PEOPLE[0])]


def sent(story: Story) -> dict[str, Any]:
    return story.sent(src_tx_hash="0x" + "ab" * 32, block=1)


def call_of(request: bytes) -> Call:
    """A call with a request that is not known here, signed by the whole set."""
    digest = signing_digest(SendKind.POOL, STORY.chain, STORY.contract, request)
    return Call(request, [sign_digest(digest, PEOPLE[0])], [address_of(PEOPLE[0])], [1])


def assert_used_up(gateway: Gateway, what: str, status: int = 7) -> None:
    answer, evidence = gateway.status(STORY), gateway.evidence(STORY)
    assert (answer["status"], evidence["valid"]) == (status, False)
    [why] = evidence["contradictions"]
    assert f"its withdraw id {evidence['withdraw_id']} was already paid {what}" in why


@pytest.fixture
def watched(gateway: Gateway, app: Flask) -> WatchedBridge:
    """A bridge that is watched, and a refund that it would pay."""
    watched = WatchedBridge(app, STORY, bridge_of(STORY, SET))
    watched.reset(by_address(SET))
    gateway.take(*refund())
    answer = gateway.status(STORY)
    assert answer["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED and pays(
        watched.bridge, served_call(answer)
    )
    return watched


def withdrawn(watched: WatchedBridge, request: bytes) -> Receipt:
    return watched.bridge.at.send(watched.bridge.data(call_of(request)))


USES = {
    "liquidity": (b"", "for a withdrawal of liquidity"),
    "a transfer that is not known": (UNKNOWN, f"for transfer 0x{UNKNOWN.hex()}"),
    "a known transfer, by another request": (bytes.fromhex(OTHER.id[2:]), f"for transfer {OTHER.id}"),
}


@pytest.mark.parametrize(("use", "queued"), [*((use, False) for use in USES), ("liquidity", True)])
def test_id_is_used_until_block_is_orphaned(
    gateway: Gateway, watched: WatchedBridge, use: str, queued: bool, database: Database, audited: Audited
) -> None:
    ref_id, what = USES[use]
    served = served_call(gateway.status(STORY))
    gateway.take(sent(OTHER), OTHER.prepared(OTHER.request(seqnum=8)))
    state = watched.bridge.chain.state
    before = state.snapshot()
    if queued:
        watched.bridge.at.call("setDelay", STORY.token, 1, 3600)
    receipt = withdrawn(watched, STORY.request(ref_id=ref_id))
    assert ("DelayedTransferAdded" in receipt.names) is queued
    watched.mine(receipt)
    assert watched.bridge.outcome_of(served) == "AlreadyDone"
    assert_used_up(gateway, what)
    with reading(database.reads) as connection:
        found = projections(connection)
    replay(*audited, actor=TESTER)
    assert_used_up(gateway, what)
    with reading(database.reads) as connection:
        assert projections(connection) == found

    state.revert(before)
    watched.watched.chain.reorg(1, [[], []])
    watched.read()
    answer = gateway.status(STORY)
    assert answer["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    assert pays(watched.bridge, served_call(answer))


def test_own_payment_does_not_use_up_id(gateway: Gateway, watched: WatchedBridge) -> None:
    watched.mine(withdrawn(watched, STORY.request()))
    answer, evidence = gateway.status(STORY), gateway.evidence(STORY)
    assert (answer["status"], evidence["contradictions"]) == (Status.TRANSFER_CONFIRMING_YOUR_REFUND, [])
    gateway.take(*refund(OTHER))
    assert gateway.status(OTHER)["status"] == Status.TRANSFER_REQUESTING_REFUND
    assert f"already paid for transfer {STORY.id}" in gateway.evidence(OTHER)["contradictions"][0]


def withdraw_id(gateway: Gateway) -> str:
    found: str = gateway.evidence(STORY)["withdraw_id"]
    return found


def lines(used: str, **changes: Any) -> dict[str, dict[str, Any]]:
    """By the reports that may use up the id."""
    place: dict[str, Any] = {"chain_id": 1, "block": 130, "withdraw_id": used}
    return {
        "liquidity": event("liquidity.withdrawn", symbol="USDT", amount="5", **(place | changes)),
        "withdraw": event("withdraw.done", **(place | changes)),
        "of a transfer": event("withdraw.done", ref_id="0x" + UNKNOWN.hex(), **(place | changes)),
    }


REPORTS = list(lines(""))


@pytest.mark.every_database
@pytest.mark.parametrize("report", REPORTS)
def test_report_counts_until_retracted(gateway: Gateway, report: str, audited: Audited) -> None:
    gateway.take(rotation(1, SET), *refund())
    line = lines(withdraw_id(gateway))[report]
    gateway.take(line)
    assert_used_up(gateway, "for ")
    gateway.take(event("chain.reorged", chain_id=1, from_block=130))
    assert gateway.status(STORY)["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    gateway.take(line)
    assert_used_up(gateway, "for ")
    retraction = retract_ids(*audited, [line["id"]], "not on the chain", actor=TESTER)
    assert gateway.status(STORY)["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    retract_ids(*audited, retraction, "it was", actor=TESTER)
    assert_used_up(gateway, "for ")


def test_id_on_other_chain_is_different(gateway: Gateway) -> None:
    gateway.take(rotation(1, SET), *refund())
    gateway.take(*lines(withdraw_id(gateway), chain_id=2).values())
    assert gateway.status(STORY)["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED


def test_refund_counts_once_in_block(gateway: Gateway) -> None:
    tx = "0x" + "d1" * 32
    gateway.take(rotation(1, SET), *refund(), *refund(OTHER))
    for block, step in ((140, "refund.submitted"), (141, "refund.delayed")):
        more: dict[str, Any] = {"delayed_id": "0x" + "5e" * 32} if step == "refund.delayed" else {}
        gateway.take(about(OTHER.n, step, tx_hash=tx, block=block, **more))
        assert gateway.status(OTHER)["status"] == Status.TRANSFER_CONFIRMING_YOUR_REFUND
        assert_used_up(gateway, f"for transfer {OTHER.id}")
        gateway.take(event("chain.reorged", chain_id=1, from_block=block))
        assert gateway.status(STORY)["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    gateway.take(about(OTHER.n, "refund.submitted", tx_hash=tx, block=142))
    assert_used_up(gateway, f"for transfer {OTHER.id}")
    gateway.take(about(OTHER.n, "refund.failed", tx_hash=tx, block=143))
    assert (gateway.status(STORY)["status"], gateway.status(OTHER)["status"]) == (
        Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
        Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
    )
