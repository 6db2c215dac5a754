"""What reorganisations take back, and what counts for a proven send, tried without a database."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.transfers.rules.events.counting import Logged, Origin, counting
from app.transfers.rules.events.event_types import ChainEvent, ChainReorged, LiquidityAdded, TransferSubmitted
from app.transfers.rules.events.reorganisations import (
    BELATED_REACH,
    ChainLimits,
    Reorg,
    canonical_on_chain,
    repeated_too_late,
    still_needed,
)
from app.values.identifiers import BlockNumber, ChainId
from tests.transfers.rules.validating import DESTINATION, NOW, SOURCE, TRANSFER

CHAIN = ChainId(1)
AT = datetime(2026, 1, 1, tzinfo=UTC)


def deposit(block: int | None, name: str = "L") -> ChainEvent:
    at = None if block is None else BlockNumber(block)
    return LiquidityAdded(id=name, at=AT, chain_id=CHAIN, symbol="USDT", amount=1, block=at)


def reorg(seq: int, from_block: int, before: int | None = None) -> Reorg:
    return Reorg(seq, CHAIN, BlockNumber(from_block), before)


@pytest.mark.parametrize(
    ("first", "block", "orphaned"),
    [
        (4, 100, True),
        (4, 100 + BELATED_REACH, True),
        (4, 101 + BELATED_REACH, False),
        (4, 99, False),
        (5, 100, False),
        (7, 100, False),
    ],
)
def test_belated_reorg_orphans_earlier_events(first: int, block: int, orphaned: bool) -> None:
    """Its first acceptance is at 5, and this one at 9."""
    accepted = Logged(7, deposit(block), first=first)
    assert reorg(9, 100, before=5).reaches(CHAIN, accepted.event.block, accepted) is orphaned
    assert reorg(9, 100).reaches(CHAIN, accepted.event.block, accepted) is (block >= 100)


def test_unlogged_reorg_orphans_nothing() -> None:
    assert not reorg(9, 0, before=0).takes(Logged(7, deposit(1), first=1))


@given(
    accepted=st.lists(
        st.tuples(st.integers(1, 20), st.none() | st.integers(0, 9), st.integers(1, 20)), max_size=8
    ),
    reported=st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 20)), max_size=8),
    positions=st.permutations(range(2, 20)),
)
def test_canonical_chain_equals_reorgs_applied_singly(
    accepted: list[tuple[int, int | None, int]],
    reported: list[tuple[int, int | None]],
    positions: list[int],
) -> None:
    reorgs = [
        reorg(seq, *each) for seq, each in zip(sorted(positions[: len(reported)]), reported, strict=True)
    ]
    log = [Logged(seq, deposit(block), first=min(seq, first)) for seq, block, first in accepted]
    retracted = {deposit(1).key: 6}
    assert canonical_on_chain(CHAIN, log, reorgs, retracted) == [
        each
        for each in log
        if each.seq > 6 and not any(one.reaches(CHAIN, each.event.block, each) for one in reorgs)
    ]


def test_late_repetition_is_refused_like_a_new_one() -> None:
    repeated = [
        ChainReorged(id=str(block), at=AT, chain_id=CHAIN, from_block=BlockNumber(block))
        for block in (49, 50, 70, 71)
    ]
    deep = repeated_too_late(repeated, {CHAIN: ChainLimits(150)}, 100)
    assert [each.from_block for each in deep] == [49]
    into_pruned = repeated_too_late(repeated, {CHAIN: ChainLimits(150, pruned_up_to=70)}, 100)
    assert [each.from_block for each in into_pruned] == [49, 50, 70]


def test_three_of_a_sender_are_needed() -> None:
    """Its first, its newest, and of those before the newest that was orphaned."""
    sent = [(1, "a"), (2, "b"), (4, "a"), (6, "a"), (8, "a"), (9, "b")]
    assert still_needed(sent, {8: False}) == {1, 2, 6, 8, 9}
    assert still_needed(sent, {8: True}) == {1, 2, 4, 8, 9}


OTHER = ChainId(3)
PROVEN = Origin(SOURCE, DESTINATION, is_sent=True, is_proven=True)
CLAIMED = Origin(SOURCE, DESTINATION, is_sent=True)


@pytest.mark.parametrize(
    ("src", "dst", "counts"),
    [
        (SOURCE, DESTINATION, True),
        (SOURCE, None, True),
        (OTHER, DESTINATION, False),
        (SOURCE, OTHER, False),
        (OTHER, None, False),
    ],
)
def test_submission_must_name_proven_chains(src: ChainId, dst: ChainId | None, counts: bool) -> None:
    announced = TransferSubmitted(id="s", at=NOW, transfer_id=TRANSFER, src_chain_id=src, dst_chain_id=dst)
    logged = [Logged(1, announced)]
    assert list(counting(logged, PROVEN)) == (logged if counts else [])
    assert list(counting(logged, CLAIMED)) == logged
