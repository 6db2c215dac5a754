"""Powers of nought, and no more signatures in a call than the quorum needs."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from app.grpcweb.gateway_pb2 import GetTransferStatusRequest, GetTransferStatusResponse
from app.values.codes import SendKind
from app.values.crypto import address_of, checksum_address
from tests.grpcweb.wire import frame, post
from tests.refunds.bridges import bridge_of, served_call
from tests.refunds.kit import KINDS, PEOPLE, Asker, Powers, Story, rotation

WITH_NOBODY: Powers = dict(zip(PEOPLE, (0, 40, 0, 35, 25), strict=False))
"""Validators without power are in the set that the contract hashes."""


def answers_of_both_doors(ask: Asker, story: Story) -> tuple[dict[str, Any], list[bytes]]:
    question = GetTransferStatusRequest(transfer_id=story.id)
    carried = post(ask.client, "GetTransferStatus", frame(question.SerializeToString()))
    assert carried.message is not None
    return ask.status(story), list(GetTransferStatusResponse.FromString(carried.message).powers)


def test_zero_power_is_one_byte_everywhere(ask: Asker) -> None:
    story = Story(SendKind.POOL)
    ask.take(rotation(1, WITH_NOBODY), story.sent(), story.prepared())
    ask.take(*(story.signed(key) for key in WITH_NOBODY))
    status, carried = answers_of_both_doors(ask, story)
    powers = [b64decode(power) for power in status["powers"]]
    assert powers == carried
    assert sorted(powers) == [b"\0", b"\0", b"\x19", b"#", b"("]
    # What `BigInt("0x" + hex)` and ethers do with each: no bytes are a SyntaxError to them.
    assert all(int("0x" + power.hex(), 16) >= 0 for power in powers)
    assert bridge_of(story, WITH_NOBODY).judge(served_call(status)).startswith("0x")


@pytest.mark.parametrize("kind", KINDS)
def test_shorter_call_costs_less_gas(ask: Asker, kind: SendKind) -> None:
    story = Story(kind)
    powers: Powers = dict(zip(PEOPLE, (5, 5, 30, 5, 30, 5, 20), strict=False))
    ask.take(rotation(story.chain, powers), story.sent(), story.prepared())
    ask.take(*(story.signed(key) for key in powers))
    status, evidence = ask.status(story), ask.evidence(story)
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


def test_evidence_names_possible_contract_refusals(ask: Asker) -> None:
    named = {}
    for n, kind in enumerate(KINDS, start=1):
        story = Story(kind, n)
        ask.take(rotation(story.chain, {PEOPLE[0]: 1}, at=-200 - n), story.sent(), story.prepared())
        assert ask.evidence(story)["may_refuse"] == [], "nothing can be called yet"
        ask.take(story.signed(PEOPLE[0]))
        reasons = ask.evidence(story)["may_refuse"]
        assert all(each["words"] for each in reasons)
        named[kind.value] = [each["reason"] for each in reasons]
    holds = ["paused", "volume_cap", "balance", "native_receiver", "already_done"]
    minted = ["paused", "volume_cap", "supply_cap", "already_done"]
    assert named == {"pool": holds, "deposit": holds, "burn": minted}
