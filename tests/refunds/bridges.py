"""A story's contract in an EVM, and the calls that its answers make."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from app.domain.crypto import address_of
from tests.contract.evm.machine import Bridge, Call, Chain
from tests.refunds.kit import PEOPLE, Powers, Story

POWERS: Powers = dict(zip(PEOPLE, (60, 7, 7, 50, 30, 1, 45), strict=False))


def by_address(powers: Powers) -> dict[bytes, int]:
    return {address_of(key): power for key, power in powers.items()}


def bridge_of(story: Story, powers: Powers = POWERS, **other: Any) -> Bridge:
    place = {"kind": story.kind.value, "chain": Chain(story.chain), "address": story.contract}
    return Bridge(**(place | {"token": story.token} | other), powers=by_address(powers))


def served_call(answer: dict[str, Any]) -> Call:
    """The evidence out of the status answer: all of its signatures."""
    sigs, signers, powers = (
        [b64decode(each) for each in answer[name]] for name in ("sorted_sigs", "signers", "powers")
    )
    return Call(
        b64decode(answer["wd_onchain"]), sigs, signers, [int.from_bytes(each, "big") for each in powers]
    )


def known_call(evidence: dict[str, Any]) -> Call:
    """What is known of the evidence, enough or not."""
    rows = evidence["signers"]
    return Call(
        b64decode(evidence["wd_onchain"]),
        [bytes.fromhex(row["signature"][2:]) for row in rows if row["signed"]],
        [bytes.fromhex(row["address"][2:]) for row in rows],
        [int(row["power"]) for row in rows],
    )
