"""What may delay the money of valid evidence, on a real EVM: delay queue, pause, caps, native coin."""

from __future__ import annotations

from typing import Any

import pytest

from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import checksum_address
from tests.contract.evm.machine import Bridge, Reverted
from tests.feed.services.world import SENDER, about, address
from tests.refunds.bridges import bridge_of
from tests.refunds.kit import KINDS, PEOPLE, Gateway, Powers, Story

SET: Powers = {PEOPLE[0]: 2, PEOPLE[1]: 1}
PERIOD = 3600
AMOUNT = 1_000_000_000
RECEIVER = bytes.fromhex(SENDER[2:])
TX = "0x" + "d1" * 32


@pytest.fixture(params=KINDS)
def story(request: pytest.FixtureRequest) -> Story:
    return Story(request.param)


@pytest.fixture
def evidence(gateway: Gateway, story: Story) -> dict[str, Any]:
    gateway.prove(story, SET)
    return gateway.evidence(story)


def pay(bridge: Bridge, evidence: dict[str, Any]) -> Any:
    return bridge.at.send(bytes.fromhex(evidence["call"]["data"][2:]))


def refusal(bridge: Bridge, evidence: dict[str, Any]) -> str:
    """What a wallet gets that simulates the call first."""
    with pytest.raises(Reverted) as refused:
        bridge.at.simulate(bytes.fromhex(evidence["call"]["data"][2:]))
    return str(refused.value)


@pytest.mark.parametrize("version", [1, 2])
def test_delayed_refund_pays_when_executed(
    gateway: Gateway, story: Story, evidence: dict[str, Any], version: int
) -> None:
    bridge = bridge_of(story, SET, version=version)
    bridge.at.call("setDelay", story.token, AMOUNT - 1, PERIOD)
    receipt = pay(bridge, evidence)
    delayed_id = "0x" + receipt.event("DelayedTransferAdded")["id"].hex()
    assert receipt.names[0] == "DelayedTransferAdded"
    assert len(receipt.names) == 2, "its own event as well"
    assert bridge.balance(RECEIVER) == 0
    if story.kind is SendKind.POOL:
        assert delayed_id == evidence["withdraw_id"]

    gateway.take(
        about(1, "refund.submitted", tx_hash=TX),
        about(1, "refund.delayed", delayed_id=delayed_id, tx_hash=TX),
    )
    assert gateway.status(story)["status"] == Status.TRANSFER_CONFIRMING_YOUR_REFUND
    shown = gateway.evidence(story)
    assert (shown["valid"], shown["proven"], shown["may_refuse"]) == (False, True, [])
    (why,) = shown["missing"]
    assert f"executeDelayedTransfer({delayed_id})" in why and f"on chain {story.chain}" in why
    waiting = shown["delayed"]
    assert (waiting["funds"], waiting["delayed_id"], waiting["chain_id"]) == (
        "refund",
        delayed_id,
        story.chain,
    )
    assert waiting["contract"] == checksum_address(story.contract)
    assert waiting["tx_link"] == f"https://scan{story.chain}.example/tx/{TX}"

    data = bytes.fromhex(waiting["call"]["data"][2:])
    with pytest.raises(Reverted, match="StillLocked"):
        bridge.at.send(data)
    bridge.chain.wait(PERIOD + 1)
    executed = bridge.at.send(data).event("DelayedTransferExecuted")
    assert (executed["id"].hex(), executed["amount"]) == (delayed_id[2:], AMOUNT)
    assert bridge.balance(RECEIVER) == AMOUNT
    with pytest.raises(Reverted, match="NotQueued"):
        bridge.at.send(data)

    gateway.take(about(1, "refund.completed", tx_hash="0x" + "d2" * 32))
    assert gateway.status(story)["status"] == Status.TRANSFER_REFUNDED
    assert gateway.evidence(story)["delayed"] is None


def test_evidence_names_every_contract_refusal(story: Story, evidence: dict[str, Any]) -> None:
    bridge = bridge_of(story, SET)
    refused: dict[str, str] = {}
    with bridge.chain.undone():
        bridge.at.call("setPaused", True)
        refused["paused"] = refusal(bridge, evidence)
    with bridge.chain.undone():
        bridge.at.call("setEpochVolume", story.token, AMOUNT - 1, 60)
        refused["volume_cap"] = refusal(bridge, evidence)
    with bridge.chain.undone():
        pay(bridge, evidence)
        refused["already_done"] = refusal(bridge, evidence)
    if story.kind is SendKind.BURN:
        with bridge.chain.undone():
            bridge.chain.place("CappedToken", story.token).call("setCap", AMOUNT - 1)
            refused["supply_cap"] = refusal(bridge, evidence)
    else:
        assert bridge.token is not None
        with bridge.chain.undone():
            bridge.token.call("burn", story.contract, bridge.balance(story.contract))
            refused["balance"] = refusal(bridge, evidence)
        with bridge.chain.undone():
            wrap(bridge, story)
            bridge.chain.place("NoCoin", RECEIVER)
            refused["native_receiver"] = refusal(bridge, evidence)
    errors = {
        "paused": "Paused", "volume_cap": "OverVolumeCap", "already_done": "AlreadyDone",
        "balance": "TooLittle", "native_receiver": "NativeRefused", "supply_cap": "OverSupplyCap",
    }  # fmt: skip
    assert refused == {each["reason"]: errors[each["reason"]] for each in evidence["may_refuse"]}
    assert pay(bridge, evidence), "none of this lasts"


def wrap(bridge: Bridge, story: Story) -> None:
    """Let the token be the chain's wrapped native coin."""
    bridge.chain.place("WrappedCoin", story.token)
    bridge.chain.give_coins(story.token, 10 * AMOUNT)
    bridge.at.call("setWrapped", story.token)


def test_delayed_payout_names_destination_id(gateway: Gateway, story: Story) -> None:
    gateway.take(story.sent(), about(1, "transfer.delayed", dst_tx_hash=TX))
    assert gateway.status(story)["status"] == Status.TRANSFER_DELAYED
    assert "the id, which was not reported" in gateway.evidence(story)["missing"][0]
    delayed_id = "0x" + "5e" * 32
    gateway.take(about(1, "transfer.delayed", at=-60, dst_tx_hash=TX, delayed_id=delayed_id))
    waiting, there = gateway.evidence(story)["delayed"], 3 - story.chain
    contract = {SendKind.POOL: 1000 + there, SendKind.DEPOSIT: 4002, SendKind.BURN: 3001}[story.kind]
    assert (waiting["funds"], waiting["delayed_id"], waiting["chain_id"]) == ("payout", delayed_id, there)
    assert waiting["contract"] == address(contract)
    assert waiting["tx_link"] == f"https://scan{there}.example/tx/{TX}"
    assert gateway.status(story)["dst_block_tx_link"] == waiting["tx_link"]
