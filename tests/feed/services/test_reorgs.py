"""What a reorg takes back, and how it comes again."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from app.db.engine import reading
from app.estimates.models import PoolCounter
from app.feed.models import TransferBlock
from app.feed.services.reprojection import replay
from app.latency.models import LatencyRecord
from app.transfers.models import ChainProgress, Event
from app.values.crypto import address_of, checksum_address
from tests.actors import TESTER
from tests.feed.services.world import (
    KEYS,
    about,
    event,
    feed,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
)
from tests.gateway import Gateway


def reorg(from_block: int, chain_id: int = 1, **changes: Any) -> dict[str, Any]:
    return event("chain.reorged", chain_id=chain_id, from_block=from_block, **changes)


def counter(gateway: Gateway, chain_id: int = 1) -> tuple[int, ...]:
    with reading(gateway.engine) as connection:
        columns = (PoolCounter.added, PoolCounter.sent, PoolCounter.relayed, PoolCounter.withdrawn)
        row = connection.execute(select(*columns).where(PoolCounter.chain_id == chain_id)).first()
        return tuple(row) if row else (0, 0, 0, 0)


def test_send_falls_with_confirmations_and_returns(gateway: Gateway, status: Callable[[int], Any]) -> None:
    send, confirmed = sent(1), about(1, "transfer.confirmed")
    feed(gateway, send, confirmed)
    assert status(1).status == 3
    assert counter(gateway) == (0, 1_000_000_000, 0, 0)
    feed(gateway, reorg(100))
    assert status(1).status == 0
    assert status(1).src_tx_hash is None
    assert counter(gateway) == (0, 0, 0, 0)
    verdict = feed(gateway, send)
    assert (verdict.accepted, verdict.repeated) == (1, 0)
    assert status(1).status == 1
    assert feed(gateway, confirmed).accepted == 1
    assert status(1).status == 3
    assert feed(gateway, send, confirmed).repeated == 2


def test_a_repeated_reorg_retracts_again(gateway: Gateway, status: Callable[[int], Any]) -> None:
    feed(gateway, sent(1), reorg(100), sent(1))
    assert status(1).status == 1
    assert feed(gateway, reorg(100)).repeated == 1
    assert status(1).status == 0
    feed(gateway, sent(1))
    assert status(1).status == 1


def test_a_reorg_below_leaves_what_is_deeper(gateway: Gateway, status: Callable[[int], Any]) -> None:
    feed(gateway, sent(1), sent(2, block=101), reorg(101))
    assert (status(1).status, status(2).status) == (1, 0)


def test_payout_blocks_belong_to_destination(gateway: Gateway, status: Callable[[int], Any]) -> None:
    feed(gateway, sent(1), released(1, block=500), reorg(400))
    assert status(1).status == 5
    feed(gateway, reorg(500, chain_id=2))
    assert status(1).status == 1
    with reading(gateway.engine) as connection:
        assert connection.execute(select(LatencyRecord)).all() == []


def test_reorg_retracts_once_chain_is_known(gateway: Gateway, status: Callable[[int], Any]) -> None:
    release = released(1, block=500)
    feed(gateway, release)
    assert status(1).status == 5
    feed(gateway, reorg(450, chain_id=2))
    assert status(1).status == 5  # no send yet: nothing says that block 500 is chain 2's
    feed(gateway, sent(1))
    assert status(1).status == 1
    assert feed(gateway, release).accepted == 1
    assert status(1).status == 5


def test_repetition_counts_once_chain_is_known(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """It came after the reorganisation."""
    release = released(1, block=500)
    feed(gateway, release, reorg(450, chain_id=2))
    assert feed(gateway, release).repeated == 1
    feed(gateway, sent(1))
    assert status(1).status == 5


def test_too_deep_a_reorg_is_refused(gateway: Gateway, status: Callable[[int], Any]) -> None:
    feed(gateway, sent(1), event("chain.head", chain_id=1, block=1200))
    refused = feed(gateway, reorg(199)).refused
    assert [r.line for r in refused] == [1]
    assert "1001 blocks below" in refused[0].reason
    assert feed(gateway, reorg(200)).refused == []
    assert status(1).status == 1


def test_accepted_reorg_repeats_at_any_depth(gateway: Gateway, status: Callable[[int], Any]) -> None:
    feed(gateway, sent(1), reorg(100), event("chain.head", chain_id=1, block=5000))
    verdict = feed(gateway, sent(1), reorg(100), event("chain.head", chain_id=1, block=5000))
    assert (verdict.accepted, verdict.repeated, verdict.refused) == (1, 2, [])
    assert status(1).status == 0


def test_heads_fall_with_the_reorg(gateway: Gateway) -> None:
    feed(gateway, event("chain.head", chain_id=1, block=1200), reorg(900))
    with reading(gateway.engine) as connection:
        assert connection.scalar(select(ChainProgress.highest_block)) == 899


def test_liquidity_falls_and_comes_again(gateway: Gateway) -> None:
    low = event("liquidity.added", chain_id=1, symbol="USDT", amount="5", block=10)
    high = event("liquidity.added", chain_id=1, symbol="USDT", amount="7", block=20)
    out = event("liquidity.withdrawn", chain_id=1, symbol="USDT", amount="3", block=21)
    feed(gateway, low, high, out)
    assert counter(gateway) == (12, 0, 0, 3)
    feed(gateway, reorg(20))
    assert counter(gateway) == (5, 0, 0, 0)
    assert feed(gateway, low, high).accepted == 1
    assert counter(gateway) == (12, 0, 0, 0)


def test_retracted_rotation_restores_refund(gateway: Gateway, status: Callable[[int], Any]) -> None:
    wd = request(1)
    feed(gateway, sent(1), prepared(1, wd), *(signed(1, signature(wd, key)) for key in KEYS[:2]))
    assert status(1).status == 8
    members = [checksum_address(address_of(key)) for key in KEYS[4:6]]
    rotation = event("validators.updated", chain_id=1, signers=members, powers=["1", "1"], block=300)
    feed(gateway, rotation)
    assert status(1).status == 7
    feed(gateway, reorg(300))
    assert status(1).status == 8


def test_each_acceptance_is_kept(gateway: Gateway) -> None:
    feed(gateway, sent(1), sent(1), reorg(100), sent(1), reorg(100))
    with reading(gateway.engine) as connection:
        rows = connection.execute(select(Event.seq, Event.type, Event.occurrence).order_by(Event.seq)).all()
    assert [tuple(row) for row in rows] == [
        (1, "transfer.sent", 0),
        (2, "chain.reorged", 0),
        (3, "transfer.sent", 1),
        (4, "chain.reorged", 1),
    ]


def test_fallen_send_takes_no_later_confirmation(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """The send moved from block 101 to 99; a later reorg of block 100 reaches nothing that stands."""
    feed(gateway, sent(1, block=101), reorg(99), sent(1, block=99), about(1, "transfer.confirmed"))
    assert status(1).status == 3
    feed(gateway, reorg(100, at=1))
    assert status(1).status == 3


@pytest.mark.parametrize("batches", ["one", "two", "the other order"])
def test_send_decides_which_reorgs_count(
    gateway: Gateway, status: Callable[[int], Any], batches: str
) -> None:
    """The send puts the release on chain 2, whose reorg had orphaned it: its repetition counts."""
    release, send = released(1, block=201), sent(1)
    feed(gateway, release, reorg(200, chain_id=2))
    if batches == "two":
        feed(gateway, send)
        feed(gateway, release)
    else:
        feed(gateway, *((send, release) if batches == "one" else (release, send)))
    assert status(1).status == 5


def blocks(gateway: Gateway) -> set[tuple[int, int]]:
    with reading(gateway.engine) as connection:
        rows = connection.execute(select(TransferBlock.chain_id, TransferBlock.highest))
        return {(row.chain_id, row.highest) for row in rows}


@pytest.mark.parametrize(
    ("route", "block", "expected"),
    [
        ((2, 3), 50, {(1, 100), (2, 50), (3, 200)}),
        ((2, 1), 50, {(1, 200), (2, 50)}),
        ((2, 1), None, {(1, 100), (2, 200)}),  # a send in a block outranks one without
    ],
)
def test_blocks_move_with_changed_chains(
    gateway: Gateway, route: tuple[int, int], block: int | None, expected: set[tuple[int, int]]
) -> None:
    """The payout's block stayed on the chain that a former send had said. Found by tests/fuzz."""
    feed(gateway, sent(1), released(1, block=200))
    assert blocks(gateway) == {(1, 100), (2, 200)}
    more = {} if block is None else {"block": block}
    other = sent(1, at=-200, event_id="earlier", src_chain_id=route[0], dst_chain_id=route[1], **more)
    if block is None:
        del other["block"]
    feed(gateway, other)
    assert blocks(gateway) == expected
    replay(*gateway.audited, actor=TESTER)
    assert blocks(gateway) == expected
