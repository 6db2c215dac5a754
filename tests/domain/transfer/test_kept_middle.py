"""What is kept of the middle is exact, whatever comes and goes; it says when it no longer serves."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.transfer import kept_middle
from app.domain.transfer.kept_middle import LONGEST, NONE, ROOM, SLACK, KeptMiddle, middle_ranks
from tests.everyday import volume

LATENCIES = (
    st.integers(0, 9)
    | st.integers(0, 500)
    | st.integers(0, 10**9)
    | st.sampled_from([200_000_000, 201_000_000])
)

CHANGES = st.lists(
    st.tuples(st.lists(LATENCIES, max_size=120), st.lists(st.integers(0, 10**6), max_size=120)), max_size=12
)
"""Latencies that come at once, and numbers by which some of those that are there are chosen to go."""


def sorted_middle(latencies: Counter[int]) -> list[int]:
    ordered = sorted(latencies.elements())
    return [ordered[rank] for rank in dict.fromkeys(middle_ranks(len(ordered)))] if ordered else []


def kept_of(latencies: Counter[int]) -> KeptMiddle:
    """All of them, and of these the middle."""
    return NONE.moved(latencies)


def assert_exact(kept: KeptMiddle, latencies: Counter[int]) -> None:
    assert kept.below == sum(n for each, n in latencies.items() if each < kept.low)
    assert kept.above == sum(n for each, n in latencies.items() if each > kept.high)
    inside = {each: n for each, n in latencies.items() if kept.low <= each <= kept.high and n}
    assert kept.values == inside
    assert kept.total == latencies.total()


@given(changes=CHANGES, room=st.sampled_from([1, 2, 5, ROOM]))
@settings(max_examples=volume(300))
def test_it_is_what_sorting_finds(changes: list[tuple[list[int], list[int]]], room: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_middle, "ROOM", room)
        patch.setattr(kept_middle, "SLACK", min(room, SLACK))
        move_and_compare(changes)


def move_and_compare(changes: list[tuple[list[int], list[int]]]) -> None:
    kept, there = NONE, Counter[int]()
    for come, go in changes:
        change = Counter(come)
        for number in go:
            left = sorted((there + change).elements())
            if left:
                change[left[number % len(left)]] -= 1
        there.update(change)
        kept = kept.moved(change)
        assert_exact(kept, there)
        if kept.is_off_centre:
            assert kept.below or kept.above
            kept = kept_of(there)
        assert not kept.is_off_centre
        middle = kept.middle({})
        assert middle is not None
        assert list(middle) == sorted_middle(there)


@given(latencies=st.lists(LATENCIES, max_size=400), correction=st.lists(st.tuples(LATENCIES, st.booleans())))
@settings(max_examples=volume(300))
def test_a_corrected_middle_is_exact_or_none(
    latencies: list[int], correction: list[tuple[int, bool]]
) -> None:
    there = Counter(latencies)
    change = Counter[int]()
    for latency, comes in correction:
        if comes or there[latency] + change[latency] > 0:
            change[latency] += 1 if comes else -1
    found = kept_of(there).middle(change)
    there.update(change)
    if found is None:
        assert len(correction) > ROOM, "so few corrections cannot move the middle out of what is kept"
    else:
        assert list(found) == sorted_middle(there)


def test_so_many_are_kept_and_no_more() -> None:
    kept = kept_of(Counter(range(100_000)))
    assert len(kept.values) == 2 * ROOM + 2
    assert (kept.below, kept.above) == (50_000 - ROOM - 1, 50_000 - ROOM - 1)
    assert kept.middle({}) == [49_999, 50_000]


@pytest.mark.parametrize("end", [49_950, 50_049])
def test_the_ends_of_what_is_kept_belong_to_it(end: int) -> None:
    """One more or less of a latency at an end, or next to it, is counted where it is."""
    there = Counter(range(100_000))
    kept = kept_of(there)
    for latency in (end - 1, end, end + 1, kept.low - 1, kept.low, kept.high, kept.high + 1):
        for n in (1, -1):
            assert_exact(kept.moved({latency: n}), there + Counter([latency] * n) - Counter([latency] * -n))


def test_of_the_same_latency_there_may_be_many() -> None:
    kept = kept_of(Counter({60_000_000: 1000, 61_000_000: 3001, 62_000_000: 1500}))
    assert kept.values == {61_000_000: 3001}
    assert kept.middle({}) == [61_000_000]
    assert kept.middle({61_000_000: -2501}) is None


def test_few_are_all_kept_and_so_are_new_extremes() -> None:
    kept = kept_of(Counter([5, 7]))
    assert (kept.low, kept.high) == (0, LONGEST)
    assert kept.moved({1: 1, 10**12: 1}).values == {1: 1, 5: 1, 7: 1, 10**12: 1}


@pytest.mark.parametrize("direction", [1, -1])
def test_a_middle_that_wanders_off_says_so_before_it_is_lost(direction: int) -> None:
    kept, there = kept_of(Counter(range(10_000))), Counter(range(10_000))
    for step in range(10_000):
        latency = 1_000_000 + step if direction > 0 else -1 - step
        kept, _ = kept.moved({latency: 1}), there.update([latency])
        if kept.is_off_centre:
            break
        assert kept.middle({}) == sorted_middle(there)
    assert kept.middle({}) == sorted_middle(there)
    assert 50 < step < 100
