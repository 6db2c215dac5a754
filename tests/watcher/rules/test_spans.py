"""What rereading leaves of spans, against blocks counted one by one."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.values.identifiers import BlockNumber
from app.watcher.rules.steps import Span, SpanState, reaches, replaced

BLOCKS = 30


@st.composite
def spans(draw: st.DrawFn) -> Span:
    first = draw(st.integers(1, BLOCKS))
    last = draw(st.integers(first, BLOCKS))
    state = draw(st.sampled_from(SpanState))
    return Span(BlockNumber(first), BlockNumber(last), 1, b"x", draw(st.sampled_from("AB")), state)


def states(stored: list[Span]) -> dict[int, SpanState]:
    found: dict[int, SpanState] = {}
    for span in stored:
        for number in range(span.first, span.last + 1):
            assert number not in found, "spans overlap"
            found[number] = span.state
    return found


@given(st.lists(st.tuples(st.lists(spans(), max_size=3), st.none() | st.integers(1, BLOCKS)), max_size=6))
def test_block_has_state_of_last_reading(steps: list[tuple[list[Span], int | None]]) -> None:
    stored: list[Span] = []
    expected: dict[int, SpanState] = {}
    for new, forget_from in steps:
        stored = replaced(stored, new, forget_from=None if forget_from is None else BlockNumber(forget_from))
        expected = {n: s for n, s in expected.items() if forget_from is None or n < forget_from}
        for span in new:
            expected |= dict.fromkeys(range(span.first, span.last + 1), span.state)
        assert states(stored) == expected
        assert stored == sorted(stored, key=lambda span: span.first)
        for one, following in pairwise(stored):
            next_to = one.last + 1 == following.first
            assert not (next_to and one.state is following.state is SpanState.PROVEN)
    settled = [span for span in stored if span.state is not SpanState.READ]
    for start in (1, 7):
        reached = start - 1
        while expected.get(reached + 1, SpanState.READ) is not SpanState.READ:
            reached += 1
        wanted = (SpanState.REREAD, SpanState.PROVEN)
        assert reaches(settled, BlockNumber(start), wanted) == (reached if reached >= start else None)


@given(spans())
def test_cut_span_compares_with_nothing(span: Span) -> None:
    for part in replaced([span], [], forget_from=span.last):
        assert (part.digest, part.count) == (b"", 0)


def test_uncompared_ranges_stay_apart() -> None:
    both = [
        Span(BlockNumber(1), BlockNumber(2), 1, b"x", "A"),
        Span(BlockNumber(3), BlockNumber(4), 1, b"y", "A"),
    ]
    assert replaced([], both) == both
