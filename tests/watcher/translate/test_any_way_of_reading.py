"""However a chain is read (in parts, backfill next to live, through reorganisations), the same is stored."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.transfers.rules.events.event_types import BlockEvent, ChainEvent, Event
from app.values.identifiers import BlockNumber
from app.watcher.rules.blocks import Log
from app.watcher.rules.logs.translation import translate
from app.watcher.rules.steps import Waiting, WaitingKey
from tests.watcher.logs import (
    ALICE,
    BOB,
    BRIDGE,
    HERE,
    NETWORK,
    PEGGED,
    POOL,
    TERMS,
    THERE,
    THIRD,
    TOKEN,
    VAULT,
    headers_of,
    log,
    send,
    topic_of,
)

BLOCKS = 60
EXECUTED = "DelayedTransferExecuted"


def random_bytes(chance: random.Random) -> bytes:
    return chance.randbytes(32)


def payout(chance: random.Random, payout_id: bytes) -> tuple[bytes, str, tuple[object, ...]]:
    """A contract, its event and the arguments of a payout with this id."""
    ref = random_bytes(chance)
    chain = chance.choice([HERE, THERE, THIRD])
    return chance.choice(
        [
            (POOL, "Relay", (payout_id, ALICE, BOB, TOKEN, 7, THERE, ref)),
            (POOL, "WithdrawDone", (payout_id, 3, BOB, TOKEN, 7, ref)),
            (POOL, "WithdrawDone", (payout_id, 3, BOB, TOKEN, 7, bytes(32))),
            (VAULT, "Withdrawn", (payout_id, BOB, TOKEN, 7, chain, ref, ALICE)),
            (BRIDGE, "Mint", (payout_id, PEGGED, BOB, 7, chain, ref, ALICE)),
        ]
    )


def random_chain(
    chance: random.Random, first: int, last: int, branch: str, queued: Iterable[tuple[bytes, bytes]] = ()
) -> list[Log]:
    """The logs of these blocks; what was queued is executed some blocks later, or never.

    :param queued: contracts and ids of payouts that were queued before.
    """
    planned: dict[int, list[tuple[bytes, bytes]]] = {}
    for each in queued:
        planned.setdefault(first + chance.randrange(25), []).append(each)
    logs: list[Log] = []
    for block in range(first, last + 1):
        index = 0
        for contract, payout_id in planned.get(block, []):
            where: dict[str, Any] = {
                "block": block,
                "index": index,
                "tx": f"x{payout_id.hex()}{branch}",
                "branch": branch,
            }
            logs.append(log(EXECUTED, payout_id, BOB, TOKEN, 7, contract=contract, **where))
            index += 1
        for n in range(chance.randrange(3)):
            where = {"block": block, "tx": f"{block}:{n}{branch}", "branch": branch}
            if chance.random() < 0.4:
                logs.append(send(index=index, **where))
                index += 1
                continue
            payout_id = random_bytes(chance)
            contract, event, arguments = payout(chance, payout_id)
            if chance.random() < 0.5:
                logs.append(log("DelayedTransferAdded", payout_id, contract=contract, index=index, **where))
                index += 1
                planned.setdefault(block + chance.randrange(1, 25), []).append((contract, payout_id))
            logs.append(log(event, *arguments, contract=contract, index=index, **where))
            index += 1
    return logs


@dataclass
class Stored:
    """What the feed and the services store: canonical events, waiting facts."""

    events: dict[str, Event] = field(default_factory=dict)
    waiting: dict[WaitingKey, Waiting] = field(default_factory=dict)

    def read(self, logs: Sequence[Log], read_to: int, final_to: int | None = None) -> None:
        step = translate(
            NETWORK,
            TERMS,
            logs,
            headers_of(*logs),
            tuple(self.waiting.values()),
            read_to=BlockNumber(read_to),
            final_to=None if final_to is None else BlockNumber(final_to),
        )
        assert not step.unreadable
        for event in step.events:
            assert self.events.setdefault(event.id, event) == event
        for key in step.done:
            self.waiting.pop(key, None)
        for each in step.waiting:
            self.waiting[WaitingKey(each.kind, each.key)] = each

    def take_back(self, block: int) -> None:
        self.events = {key: event for key, event in self.events.items() if block_of(event) < block}
        self.waiting = {key: each for key, each in self.waiting.items() if each.block < block}


def block_of(event: Event) -> int:
    assert isinstance(event, BlockEvent | ChainEvent) and event.block is not None
    return event.block


def between(logs: Iterable[Log], first: int, last: int) -> list[Log]:
    return [log for log in logs if first <= log.block <= last]


def in_queue(logs: Sequence[Log]) -> list[tuple[bytes, bytes]]:
    """What these logs put into queues and did not take out again."""
    added = [(log.address, log.data) for log in logs if len(log.data) == 32]
    gone = {(log.address, log.data[:32]) for log in logs if log.topics == (topic_of(EXECUTED),)}
    return [each for each in added if each not in gone]


def at_once(logs: Sequence[Log], last: int) -> Stored:
    stored = Stored()
    stored.read(logs, last)
    return stored


@pytest.mark.parametrize("seed", range(10))
def test_backfill_beside_live_reading(seed: int) -> None:
    chance = random.Random(seed)
    logs = random_chain(chance, 0, BLOCKS, "a")
    stored, live_from = Stored(), chance.randrange(1, BLOCKS)
    live, backfilled = live_from, 0
    while live <= BLOCKS or backfilled < live_from:
        if live <= BLOCKS and (backfilled >= live_from or chance.random() < 0.5):
            end = min(BLOCKS, live + chance.randrange(8))
            stored.read(between(logs, live, end), end, final_to=end - 40)
            live = end + 1
        else:
            end = min(live_from - 1, backfilled + chance.randrange(12))
            stored.read(between(logs, backfilled, end), max(end, live - 1), final_to=max(end, live - 1) - 40)
            backfilled = end + 1
    stored.read([], BLOCKS)
    assert stored.events == at_once(logs, BLOCKS).events


@pytest.mark.parametrize("seed", range(10))
def test_reorganisations_on_the_way(seed: int) -> None:
    chance = random.Random(1000 + seed)
    logs = random_chain(chance, 0, BLOCKS, "a")
    stored, read_to, highest = Stored(), -1, -1
    branch = 0
    while read_to < BLOCKS:
        end = min(BLOCKS, read_to + 1 + chance.randrange(6))
        stored.read(between(logs, read_to + 1, end), end, final_to=max(highest, end) - 20)
        read_to, highest = end, max(highest, end)
        if chance.random() < 0.3 and branch < 12:
            branch += 1
            fork = max(0, min(read_to, highest - chance.randrange(20) + 1))
            stored.take_back(fork)
            below = between(logs, 0, fork - 1)
            logs = below + random_chain(chance, fork, BLOCKS, f"b{branch}", in_queue(below))
            read_to = fork - 1
    assert stored.events == at_once(logs, BLOCKS).events


def test_final_events_do_not_wait_forever() -> None:
    logs = random_chain(random.Random(5), 0, BLOCKS, "a")
    stored = at_once(logs, BLOCKS)
    queued = {each.key for key, each in stored.waiting.items() if key.kind == "queued"}
    executed = {each.key for key, each in stored.waiting.items() if key.kind == "executed"}
    assert queued & executed
    stored.read([], 10_000, final_to=10_000)
    assert {each.key for each in stored.waiting.values()} == queued ^ executed
