"""The two nodes, a gateway, and the plan that is played on them, one block after the other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flask import Flask

from demo.anvil import Anvil
from demo.chains import LEFT, RIGHT, USERS
from demo.network import document
from demo.transfers import Send
from tests.feed.services.world import feed
from tests.watcher.on_anvil.plan import BEFORE, BLOCK_DELAYS, CHAINS, Plan

MINER = bytes(20)
Answers = dict[str, Any]


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
            node.coinbase(MINER)

    def mine(self, plan: Plan, chain: int, turn: int, miner: bytes = MINER) -> None:
        """The block of a turn, as it is planned."""
        node = self.nodes[chain]
        for call in plan.turns[turn].calls[chain] if turn in plan.turns else ():
            call.send(node)
        node.coinbase(miner)
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


def answers(app: Flask, sends: Sequence[Send]) -> Answers:
    """Everything that users and wallets can request about these transfers and what surrounds them.

    How new the newest event is that was ever accepted, which is next to "transfer not found", is left out:
    it counts what a reorganisation took back.
    """
    client = app.test_client()
    found: Answers = {}
    known = {send.text for send in sends}

    def get(path: str, **query: Any) -> None:
        answer = client.get(path, query_string=query).get_json()
        if "history" in answer:
            rows = {row["transfer_id"]: row for row in answer["history"]}
            answer = {"err": answer["err"], "history": {each: rows[each] for each in rows if each in known}}
        found[f"{path}?{json.dumps(query, sort_keys=True)}"] = _without_age(answer)

    for send in sends:
        body = {"transfer_id": send.text}
        status = client.post("/v2/getTransferStatus", json=body).get_json()
        found[f"status {send.text}"] = _without_age(status)
        get("/v2/getRefundEvidence", transfer_id=send.text)
    for user in USERS[:4]:
        get("/v2/transferHistory", acct_addr=f"0x{user.hex()}", page_size=100)
    for src, dst in (CHAINS, CHAINS[::-1]):
        get("/v2/getLatest7DayTransferLatencyForQuery", src_chain_id=src, dst_chain_id=dst)
        for symbol in ("USDX", "COIN"):
            get(
                "/v2/estimateAmt", src_chain_id=src, dst_chain_id=dst, token_symbol=symbol, amt="1000",
                usr_addr="", slippage_tolerance=3000, is_pegged="false",
            )  # fmt: skip
    return found


def _without_age(answer: Any) -> Any:
    if answer["err"] is not None:
        answer["err"]["msg"] = answer["err"]["msg"].partition(";")[0]
    return answer


def differences(expected: Any, found: Any, place: str = "") -> list[str]:
    """Where two answers are not the same, each place in a line."""
    if isinstance(expected, dict) and isinstance(found, dict):
        names = sorted(expected.keys() | found.keys())
        parts = [(f"{place}/{name}", expected.get(name), found.get(name)) for name in names]
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        parts = [(f"{place}/{at}", *pair) for at, pair in enumerate(zip(expected, found, strict=True))]
    else:
        return [] if expected == found else [f"{place}: {expected!r} became {found!r}"]
    return [line for name, one, other in parts for line in differences(one, other, name)]


def statuses(app: Flask, sends: Iterable[Send]) -> dict[str, int]:
    """The status number of each transfer."""
    client = app.test_client()
    return {
        send.text: client.post("/v2/getTransferStatus", json={"transfer_id": send.text}).get_json()["status"]
        for send in sends
    }
