"""When the block that an end rests on is final."""

from __future__ import annotations

import pytest

from app.network.rules.watch_terms import FINALIZED, Finality
from app.transfers.rules.progress import ChainDepth, is_final
from app.values.identifiers import BlockNumber

BLOCK = BlockNumber(100)


@pytest.mark.parametrize(
    ("head", "finalized", "finality", "block_delay", "final"),
    [
        (111, None, None, 12, False),  # without a finality of its own: block_delay blocks deep
        (112, None, None, 12, True),
        (100, None, None, 0, True),  # no delay
        (99, None, None, 0, False),
        (131, None, 32, 12, False),  # a finality of blocks
        (132, None, 32, 12, True),
        (100, None, 0, 12, True),  # final at once
        (10_000, 99, FINALIZED, 12, False),  # the node's finalized block, however deep
        (101, 100, FINALIZED, 12, True),
        (111, None, FINALIZED, 12, False),  # no finalized block is known: block_delay
        (112, None, FINALIZED, 12, True),
        (112, 99, None, 12, True),  # a finalized block that does not count
        (None, None, None, 12, False),  # the head is not known
        (None, None, 0, 12, False),
        (None, None, FINALIZED, 12, False),
        (10_000, None, None, None, False),  # an unknown chain
    ],
)
def test_chain_decides_when_block_is_final(
    head: BlockNumber | None,
    finalized: BlockNumber | None,
    finality: Finality | None,
    block_delay: int | None,
    final: bool,
) -> None:
    assert is_final(BLOCK, ChainDepth(head, finalized), finality, block_delay) == final
