"""The two nodes, a gateway, and the plan that is played on them, one block after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from flask import Flask

from demo.anvil import Anvil
from demo.chains import LEFT, RIGHT
from demo.network import document
from demo.transfers import Send
from tests.feed.services.world import feed
from tests.watcher.on_anvil.plan import BEFORE, BLOCK_DELAYS, Plan


@dataclass
class Chains:
    """Both nodes with the contracts on them, always from the same first block on."""

    nodes: dict[int, Anvil]
    snapshots: dict[int, str] = field(default_factory=dict)

    def begin_again(self) -> None:
        """Forget every block but those of the contracts."""
        for chain, node in self.nodes.items():
            node.revert(self.snapshots[chain])
            self.snapshots[chain] = node.snapshot()

    def mine(self, plan: Plan, chain: int, turn: int) -> None:
        """The block of a turn, as it is planned."""
        node = self.nodes[chain]
        for call in plan.turns[turn].calls[chain] if turn in plan.turns else ():
            call.send(node)
        node.mine(plan.time(turn))
        assert node.head == turn


def network(**watching: Any) -> dict[str, Any]:
    """The network document of the plan."""
    delays = (BLOCK_DELAYS[LEFT], BLOCK_DELAYS[RIGHT])
    return document(BEFORE, block_delays=delays, **({"watch_from_block": 0} | watching))


def report(app: Flask, plan: Plan, turn: int) -> None:
    """What the network's reporters send after the blocks of a turn."""
    if turn in plan.turns and (reports := plan.turns[turn].reports):
        verdict = feed(app, *reports)
        refused = [
            each for each in verdict.refused if "must be made by a current validator" not in each.reason
        ]
        assert not refused, refused


def statuses(app: Flask, sends: Iterable[Send]) -> dict[str, int]:
    """The status number of each transfer."""
    client = app.test_client()
    return {
        send.text: client.post("/v2/getTransferStatus", json={"transfer_id": send.text}).get_json()["status"]
        for send in sends
    }
