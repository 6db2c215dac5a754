"""What the release before this one makes of a database: its network and its transfers."""

from __future__ import annotations

from typing import Any, Final

import msgspec

SEED: Final = '''
import itertools, json, sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from app.values.codes import SendKind
from tests.builders import network as build
from tests.faults import story
from tests.feed.services import world
from tests.feed.services.world import KEYS, POWERS, SENDER, about, event, prepared, released, request, sent

count, folder = int(sys.argv[1]), Path(sys.argv[2])
PEGGED = 10_000_000
"""The first number of transfers by deposits and burns."""

# The story begins 600,000 seconds before: here five days ago, so that no latency leaves its week meanwhile.
world._events = replace(world._events, now=datetime.now(UTC) + timedelta(seconds=150_000))

# The contract pays a withdraw id once: each refund has its own.
story.request = lambda n, kind: request(n, kind, seqnum=n)


def document():
    whole = world.network()
    whole["pools"] = [build.pool(n, "USDT", str(10**30), total_cap=str(10**31)) for n in (1, 2, 3)]
    whole["routes"] = [build.route(*pair, "USDT") for pair in ((1, 2), (2, 1), (2, 3), (3, 2))]
    return whole


def pooled(n):
    yield from story.of_transfer(n)
    at = -600_000 + n
    if n % 12 == 0:
        yield about(n, "refund.submitted", at=at + 230, tx_hash="0x" + "cc" * 32, block=1100 + n)
    if n % 24 == 0:
        yield about(n, "refund.failed", at=at + 240, tx_hash="0x" + "cc" * 32, block=1100 + n)
    if n % 36 == 6:
        yield about(n, "refund.delayed", at=at + 240, delayed_id="0x" + "dd" * 32, block=1100 + n)
    if n % 200 == 199:  # the last payouts are taken back, and one of them comes again
        yield event("chain.reorged", at=at + 220, chain_id=2, from_block=5000 + n - 3)
        yield released(n, at=at + 250, block=5001 + n, dst_tx_hash="0x" + "ab" * 32)
    if n % 400 == 0:
        powers = [str(power + n // 400 % 2) for power in POWERS]
        signers = [world.checksum_address(world.address_of(key)) for key in KEYS[: len(POWERS)]]
        yield event("validators.updated", at=at, chain_id=2, signers=signers, powers=powers)


def pegged(n):
    at, number = -600_000 + n, PEGGED + n
    kind, ways = ((SendKind.DEPOSIT, (1, 2)), (SendKind.BURN, (2, 1)))[n % 2]
    chains = dict(zip(("src_chain_id", "dst_chain_id"), ways))
    fields = {"kind": kind.name.lower(), "symbol": "CELR", "block": 1000 + n, **chains}
    yield sent(number, at=at, src_tx_hash=world.transfer_id(number), **fields)
    if n % 3:
        yield released(number, at=at + 300 + n % 11, block=6000 + n)
        return
    wd_onchain = request(number, kind, chain=ways[0])
    yield prepared(number, wd_onchain, at=at + 200)
    for key in KEYS[: 1 + n % 4]:
        signature = world.signature(wd_onchain, key, kind, chain=ways[0])
        yield world.signed(number, signature, at=at + 210)


with (folder / "events").open("w") as file:
    for n in range(count):
        lines = [pooled(n), pegged(n // 4) if n % 4 == 0 else (), story.of_network(n) if n % 10 == 0 else ()]
        for each in itertools.chain(*lines):
            print(json.dumps(each), file=file)
(folder / "network").write_text(json.dumps(document()))
numbers = [*range(count), *(PEGGED + n // 4 for n in range(0, count, 4))]
refunds = [n for n in numbers if (n % 6 == 0 if n < PEGGED else (n - PEGGED) % 3 == 0)]
found = {"account": SENDER, "ids": list(map(world.transfer_id, numbers))}
print(json.dumps({**found, "refunds": list(map(world.transfer_id, refunds))}))
'''
"""Runs in the folder of the old release. It writes the network document and the events into files."""


class Seeded(msgspec.Struct, frozen=True):
    """What was made.

    ``account`` sent all transfers. ``refunds``: those with a request.
    """

    account: str
    ids: list[str]
    refunds: list[str]


LOADED_PAIR: Final = (1, 3)
"""The pair of chains of transfers that are sent during the upgrade; no other transfer crosses it."""


def life(number: int, at: str, account: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The events of a deposit's send, and its payout."""
    transfer_id = f"0x{number:064x}"
    src, dst = LOADED_PAIR
    common = {"transfer_id": transfer_id, "at": at}
    send = {
        "kind": "deposit", "src_chain_id": src, "dst_chain_id": dst, "symbol": "CELR", "amount": "1000000000",
        "sender": account, "receiver": account, "src_tx_hash": transfer_id, "block": number,
    }  # fmt: skip
    sends = [
        {"id": f"{number}:sent", "type": "transfer.sent", **common, **send},
        {"id": f"{number}:confirmed", "type": "transfer.confirmed", **common, "block": number},
    ]
    payout = {"type": "transfer.released", **common, "dst_tx_hash": transfer_id, "block": number}
    return sends, {"id": f"{number}:released", **payout}
