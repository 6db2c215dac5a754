"""The contract of a transfer in an EVM, and the calls that answers of the gateway make."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Flask

from app.values.crypto import address_of
from tests.contract.evm.machine import Bridge, Call, Chain, Receipt
from tests.refunds.kit import PEOPLE, Powers, Story
from tests.watcher.fake_chain import FakeLog
from tests.watcher.kit import CHAIN, Watched, network

POWERS: Powers = dict(zip(PEOPLE, (60, 7, 7, 50, 30, 1, 45), strict=False))


def by_address(powers: Powers) -> dict[bytes, int]:
    return {address_of(key): power for key, power in powers.items()}


def bridge_of(story: Story, powers: Powers = POWERS, **other: Any) -> Bridge:
    place = {"kind": story.kind.value, "chain": Chain(story.chain), "address": story.contract}
    return Bridge(**(place | {"token": story.token} | other), powers=by_address(powers))


@dataclass
class WatchedBridge:
    """A pool bridge in an EVM whose logs a watcher reads, block by block, into a gateway."""

    app: Flask
    story: Story
    bridge: Bridge

    def __post_init__(self) -> None:
        self.watched = Watched(self.app, changes={"pool_bridge": self.story.contract})
        self.reader = self.watched.reader(
            network(symbols={(CHAIN, self.story.token): ("USDT",)}, pool_bridges={CHAIN: self.story.contract})
        )

    def mine(self, *receipts: Receipt) -> None:
        """A block with the logs of these transactions, which is read."""
        logs = [
            FakeLog(*entry, tx=str(number)) for number, each in enumerate(receipts) for entry in each.logs
        ]
        self.watched.chain.mine(*logs)
        self.read()

    def read(self) -> None:
        """Let the watcher read all that is there."""
        self.watched.settle(self.reader)

    def reset(self, members: Mapping[bytes, int]) -> None:
        """The owner's rotation, in a block that is read."""
        self.mine(self.bridge.reset(sorted(members), [members[who] for who in sorted(members)]))


def pays(bridge: Bridge, call: Call) -> bool:
    return bridge.outcome_of(call).startswith("0x")


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
