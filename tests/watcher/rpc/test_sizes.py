"""How much one request is for, after what a URL answered."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.watcher.rpc.faults import Garbled, NotThere, RateLimited, RpcFault, Slow, TooLarge, Unreachable
from app.watcher.rpc.sizes import LEAST_GOOD, MOST_GOOD, SLOW_SECONDS, Size, in_pieces


def size(now: int = 256, largest: int = 100_000) -> Size:
    return Size(now, largest)


def requests_of(of: Size, count: int, most: int, fault: RpcFault) -> list[int]:
    """How many pieces each request had, of a URL that fails for more than ``most``."""
    requests = []

    def request(_first: int, many: int) -> int:
        requests.append(many)
        if many > most:
            raise fault
        return many

    assert sum(in_pieces(of, count, request, lambda: 0.0)) == count
    return requests


def test_fast_answers_double_size_to_largest() -> None:
    of = size()
    sizes = []
    for _ in range(12):
        of.answered(of.now, 0.5, 10)
        sizes.append(of.now)
    assert sizes[:3] == [512, 1024, 2048] and of.now == 100_000


@pytest.mark.parametrize(
    ("count", "seconds", "logs", "now"),
    [
        pytest.param(3, 0.1, 0, 256, id="short"),
        pytest.param(256, 3.0, 10, 256, id="slow"),
        pytest.param(256, 0.5, 9_000, 256, id="full"),
        pytest.param(256, 9.0, 10, 128, id="very slow"),
        pytest.param(256, 0.1, 20_000, 128, id="very full"),
    ],
)
def test_slow_or_full_answer_halves_size(count: int, seconds: float, logs: int, now: int) -> None:
    of = size()
    of.answered(count, seconds, logs)
    assert of == size(now)


def test_refused_size_is_avoided_longer_each_time() -> None:
    of = size(2048)
    needed = []
    for _ in range(6):
        of.refused(2048)
        answers = 0
        while of.now < 2048:
            assert of.now == 1024
            of.answered(1024)
            answers += 1
        needed.append(answers)
    assert needed == [2 * LEAST_GOOD, 16, 32, MOST_GOOD, MOST_GOOD, MOST_GOOD]


def test_size_grows_fast_after_larger_answer() -> None:
    of = size(2048)
    for _ in range(5):
        of.refused(2048)
    answers = 0
    while of.now < 100_000:
        of.answered(of.now)
        answers += 1
    assert answers < MOST_GOOD + 8 * (LEAST_GOOD + 2)


def test_smaller_size_named_by_node_is_used() -> None:
    of = size(4096)
    of.refused(4096, 2000)
    for _ in range(MOST_GOOD - 1):
        of.answered(2000)
    assert of.now == 2000
    larger = size(4096)
    larger.refused(4096, 10_000)
    assert larger.now == 2048


def test_size_named_after_another_refusal_is_ignored() -> None:
    requests: list[int] = []

    def request(_first: int, many: int) -> int:
        requests.append(many)
        if many > 3:
            raise TooLarge("too many", many - 1)
        return many

    assert sum(in_pieces(size(1000), 1000, request, lambda: 0.0)) == 1000
    assert requests[:5] == [1000, 999, 499, 249, 124]


def test_clear_refusal_halves_until_answered() -> None:
    of = size(100, 100)
    assert requests_of(of, 20, 3, TooLarge("too many"))[:5] == [20, 10, 5, 2, 2]
    assert of.now == 2


KINDS = [
    lambda _many, _most: TooLarge("no"),
    lambda _many, most: TooLarge("no", most),
    lambda many, _most: TooLarge("no", many - 1),
    lambda many, _most: TooLarge("no", many * 10),
    lambda _many, _most: Unreachable("no"),
]


@given(
    count=st.integers(1, 2000),
    start=st.integers(1, 5000),
    limits=st.lists(st.integers(1, 4000), min_size=1, max_size=30),
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=5),
    seconds=st.sampled_from([0.0, 3.0, 9.0]),
)
def test_each_range_is_read_within_any_limits(
    count: int, start: int, limits: list[int], kinds: list[Callable[[int, int], RpcFault]], seconds: float
) -> None:
    """The limits and the ways to refuse change with each request; an answer has one piece at least."""
    requests = 0

    def request(_first: int, many: int) -> int:
        nonlocal requests
        most, fault = limits[requests % len(limits)], kinds[requests % len(kinds)]
        requests += 1
        if many > most:
            raise fault(many, most)
        return many

    assert sum(in_pieces(size(start), count, request, lambda: requests * seconds)) == count
    least = 1 if seconds > SLOW_SECONDS else min(limits) / 2
    assert requests <= 3 * ceil(count / max(1, least)) + 60


@pytest.mark.parametrize("fault", [Unreachable("HTTP 500"), Garbled("no JSON"), Slow("no answer")])
def test_doubt_is_settled_by_one_piece(fault: RpcFault) -> None:
    assert requests_of(size(100, 100), 20, 5, fault)[:6] == [20, 1, 10, 1, 5, 5]


@pytest.mark.parametrize(("most", "fault"), [(0, Unreachable("HTTP 503")), (5, NotThere("no block"))])
def test_other_failure_leaves_size(most: int, fault: RpcFault) -> None:
    """That of one piece, and what is about no size."""
    of = size(100, 100)
    with pytest.raises(type(fault)):
        requests_of(of, 20, most, fault)
    assert of == size(100, 100)


def test_named_pause_comes_before_smaller_requests() -> None:
    fault = RateLimited("HTTP 429", 30)
    fault.may_be_size = True
    of = size(100, 100)
    with pytest.raises(RateLimited):
        requests_of(of, 20, 5, fault)
    assert of.now == 1
    of.answered(1)
    assert of.now == 10
