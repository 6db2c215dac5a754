"""Events about many transfers in every status; the order in which they arrive does not matter."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from app.values.codes import SendKind
from tests.faults.reporters import Events
from tests.feed.services.world import (
    KEYS,
    about,
    event,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
    transfer_id,
)

PER_REFUND = 6
"""Every so many transfers one is refunded, with real signatures, which take time to check."""


def story(count: int) -> Events:
    """So many events, all different."""
    reported: Events = []
    number = 0
    while len(reported) < count:
        reported += of_transfer(number)
        if number % 10 == 0:
            reported += of_network(number)
        number += 1
    return reported[:count]


def of_transfer(n: int) -> Iterator[dict[str, Any]]:
    """The life of one transfer, as far as it comes."""
    at = -600_000 + n
    yield sent(n, at=at, block=1000 + n, src_tx_hash=transfer_id(n))
    if n % PER_REFUND == 0:
        yield from _refund(n, at)
    elif n % PER_REFUND == 1:
        yield about(n, "transfer.submitted", at=at - 20, src_chain_id=1)
        yield about(n, "transfer.failed", at=at + 10, block=1000 + n)
        yield about(n, "network.status", at=at + 100, xfer_status=3 + n % 3)
    else:
        yield about(n, "transfer.confirmed", at=at + 120, block=1000 + n)
        yield about(n, "network.status", at=at + 130, xfer_status=1)
        yield about(n, "network.status", at=at + 140, xfer_status=2)
        if n % PER_REFUND == 2:
            yield about(n, "transfer.delayed", at=at + 150, block=5000 + n)
        elif n % PER_REFUND != 3:
            yield released(n, at=at + 200 + n % 7, block=5000 + n)


def _refund(n: int, at: float) -> Iterator[dict[str, Any]]:
    wd_onchain = request(n, SendKind.POOL)
    yield about(n, "network.status", at=at + 100, xfer_status=4)
    yield about(n, "refund.requested", at=at + 200)
    yield prepared(n, wd_onchain, at=at + 210)
    for key in KEYS[: 1 + n // PER_REFUND % 4]:
        yield signed(n, signature(wd_onchain, key), at=at + 220)
    if n % (PER_REFUND * 5) == 0:
        yield about(n, "refund.completed", at=at + 300, block=1200 + n)


def of_network(n: int) -> Iterator[dict[str, Any]]:
    """Heads, pools and fees, which all transfers share."""
    at = -500_000 + n
    yield event("chain.head", at=at, chain_id=1 + n % 3, block=10_000 + n)
    yield event("liquidity.added", at=at, chain_id=1 + n % 2, symbol="USDT", amount=str(1000 + n), block=n)
    yield event("liquidity.withdrawn", at=at, chain_id=2, symbol="USDT", amount=str(n), block=n)
    yield event("fee.updated", at=at, symbol="USDT", src_chain_id=1, dst_chain_id=2, base_fee=str(n))


def shares(reported: Events, writers: int, chance: random.Random) -> list[list[Events]]:
    """Each writer's portions: every event in one of them, and a quarter again in another's.

    Half of the writers post ten events at most, so that their posts wait for each other and are committed
    together.

    The repeats are of one half of the events only: of the other half, one that was lost after it
    was answered would be missed at the end.
    """
    shuffled = chance.sample(reported, len(reported))
    repeated = chance.sample(shuffled[: len(reported) // 2], len(reported) // 4)
    found: list[list[Events]] = []
    for writer in range(writers):
        mine = shuffled[writer::writers] + repeated[(writer + 3) % writers :: writers]
        chance.shuffle(mine)
        portions = []
        while mine:
            size = chance.randint(1, 10 if writer % 2 else 200)
            portions.append(mine[:size])
            mine = mine[size:]
        found.append(portions)
    return found
