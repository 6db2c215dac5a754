"""The figures of a fault, from what was seen of each request: pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tests.load.steady import GOOD, Seen

GOOD_SHARE: Final = 0.99
"""Of the requests of a second, for it to count as a good one."""

STEADY_SECONDS: Final = 3
"""So many good seconds in a row are a recovery."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one fault.

    :param failed: how many requests failed, by outcome.
    :param gap: the longest time in which no request was answered well, in seconds.
    :param recovered: seconds from when the cause was gone until the answers were good again; None where they
        never were.
    :param p99_before: of the whole answers, in milliseconds; ``p99_during`` from the fault until the end.
    """

    requests: int
    failed: Counter[str]
    gap: float
    recovered: float | None
    p99_before: float
    p99_during: float


def figures(seen: Iterable[Seen], began: float, ended: float) -> Figures:
    """What came of a fault.

    :param began: when it began, in monotonic seconds.
    :param ended: when its cause was gone; the same for one that lasts no time.
    """
    requests = sorted(seen, key=lambda one: one.due)
    before = [one for one in requests if one.due < began]
    since = [one for one in requests if one.due >= began]
    return Figures(
        requests=len(requests),
        failed=Counter(one.outcome for one in requests if one.outcome != GOOD),
        gap=longest_gap(requests),
        recovered=recovered_after(requests, began, ended),
        p99_before=p99(before),
        p99_during=p99(since),
    )


def longest_gap(requests: Sequence[Seen]) -> float:
    """The longest time between two good answers, of those that came one after the other, in seconds."""
    answered = sorted(one.due + one.seconds for one in requests if one.outcome == GOOD)
    if not answered:
        return float("inf")
    return max((later - earlier for earlier, later in pairwise(answered)), default=0.0)


def recovered_after(requests: Sequence[Seen], began: float, ended: float) -> float | None:
    """Seconds from ``ended`` until the first of some good seconds in a row, 0 where none was ever bad.

    A request counts in the second in which it was due.
    """
    seconds: dict[int, list[bool]] = {}
    for one in requests:
        if one.due >= began:
            seconds.setdefault(int(one.due - began), []).append(one.outcome == GOOD)
    good = {second for second, each in seconds.items() if sum(each) >= GOOD_SHARE * len(each)}
    last = max(seconds, default=0)
    bad = sorted(seconds.keys() - good)
    if not bad:
        return 0.0
    for second in range(bad[0], last + 1):
        if all(next_one in good for next_one in range(second, second + STEADY_SECONDS)):
            return max(0.0, began + second - ended)
    return None


def p99(requests: Sequence[Seen]) -> float:
    """In milliseconds, of those that were answered well."""
    times = sorted(one.seconds for one in requests if one.outcome == GOOD)
    return 1000 * times[int(0.99 * (len(times) - 1))] if times else float("nan")
