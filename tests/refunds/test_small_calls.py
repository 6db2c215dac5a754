"""Powers of nought, and no more signatures in a call than the quorum needs."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from app.grpcweb.gateway_pb2 import GetTransferStatusRequest, GetTransferStatusResponse
from app.values.codes import SendKind
from app.values.crypto import address_of, checksum_address
from tests.grpcweb.wire import frame, post
from tests.refunds.bridges import bridge_of, pays, served_call
from tests.refunds.kit import KINDS, PEOPLE, Gateway, Powers, Story

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
