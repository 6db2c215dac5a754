"""Every answer about random feeds is the oracle's, which knows the documents and nothing of the code."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.everyday import SEED, volume
from tests.feed.oracle.generator import Generator, Item
from tests.feed.oracle.playing import Differs, Play, as_text, smallest

COUNT = volume(2_000, 24)


def difference(begin: Callable[[], Play], items: Sequence[Item]) -> str:
    """What the gateway says otherwise than the oracle; empty where it says the same."""
    try:
        begin().play(items)
    except Differs as found:
        return str(found)
    return ""


@pytest.mark.parametrize("first", [SEED * 100_000])
def test_every_answer_is_the_oracles(begin: Callable[[], Play], first: int) -> None:
    for seed in range(first, first + COUNT):
        items = Generator(seed).feed()
        if difference(begin, items):
            small = smallest(items, lambda fewer: difference(begin, fewer))
            pytest.fail(f"seed {seed}: {difference(begin, small)}\n{as_text(small)}")
