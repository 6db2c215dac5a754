"""Every answer about any feed is the oracle's, which knows the documents and nothing of the code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.feed.oracle.generator import Generator
from tests.feed.oracle.items import Item, as_text, read_items
from tests.feed.oracle.playing import Differs, Play, smallest
from tests.feed.seeds import seeds

Begin = Callable[[], Play]

KNOWN = sorted((Path(__file__).parent / "known").glob("*.jsonl"))
"""Small feeds that a release answered wrongly. What a failure prints can be put beside them."""


def difference(begin: Begin, items: Sequence[Item]) -> str:
    """What the gateway says otherwise than the oracle; empty where it says the same."""
    try:
        begin().play(items)
    except Differs as found:
        return str(found)
    return ""


def test_answers_to_known_feeds_are_the_oracles(begin: Begin) -> None:
    told = {each.stem: difference(begin, read_items(each.read_text())) for each in KNOWN}
    wrong = [f"{name}: {differs}" for name, differs in told.items() if differs]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("tried", seeds(10))
def test_answers_to_random_feeds_are_the_oracles(begin: Begin, tried: range) -> None:
    for seed in tried:
        items = Generator(seed).feed()
        if difference(begin, items):
            small = smallest(items, lambda fewer: bool(difference(begin, fewer)))
            pytest.fail(f"seed {seed}: {difference(begin, small)}\n{as_text(small)}")
