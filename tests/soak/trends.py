"""Whether a series of samples grows, by how much, and whether that is within its bound. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

HELD: Final = "held"
MISSED: Final = "**missed**"
UNCLEAR: Final = "not clear"

WARM_SHARE: Final = 1 / 6
"""The part of a run, from its start, that is left out: pools fill, and libraries load what they need."""

_BLOCKS: Final = 12
"""Neighbouring samples are alike, so a trend is drawn through this many medians, each of a block."""

_T_95: Final = 2.228
"""Student's t for ten degrees of freedom: those that a line leaves of twelve points."""


@dataclass(frozen=True, slots=True)
class Flat:
    """How far a series may grow within a run and still count as flat: the greater of the two.

    :param share: of its mean.
    :param amount: in its unit.
    """

    share: float
    amount: float

    def most(self, mean: float) -> float:
        """The most that it may grow."""
        return max(self.share * abs(mean), self.amount)


@dataclass(frozen=True, slots=True)
class Trend:
    """A straight line through a series, after its warm-up. Growth is over the time after it,
    from ``least`` to ``most`` with 95 % confidence."""

    first: float
    last: float
    mean: float
    least: float
    most: float
    minutes: float

    @property
    def an_hour(self) -> float:
        """Growth an hour, in the middle of its interval."""
        return (self.least + self.most) / 2 / self.minutes * 60 if self.minutes else 0.0

    def verdict(self, flat: Flat) -> str:
        """Held where the most that it may have grown is within the bound; missed where the least is not."""
        bound = flat.most(self.mean)
        if self.most <= bound:
            return HELD
        return MISSED if self.least > bound else UNCLEAR


def trend(times: Sequence[float], values: Sequence[float]) -> Trend:
    """The line through the samples after the warm-up.

    :param times: in seconds, ascending.
    :raises ValueError: there are too few samples for twelve blocks.
    """
    begin = times[0] + (times[-1] - times[0]) * WARM_SHARE
    seen = [(at, value) for at, value in zip(times, values, strict=True) if at >= begin]
    if len(seen) < _BLOCKS:
        raise ValueError(f"{len(seen)} samples after the warm-up; a trend needs {_BLOCKS}")
    cuts = [len(seen) * number // _BLOCKS for number in range(_BLOCKS + 1)]
    blocks = [seen[low:high] for low, high in pairwise(cuts)]
    xs = [statistics.fmean(at for at, _ in block) for block in blocks]
    ys = [statistics.median(value for _, value in block) for block in blocks]
    slope, intercept = statistics.linear_regression(xs, ys)
    rest = sum((y - slope * x - intercept) ** 2 for x, y in zip(xs, ys, strict=True))
    middle = statistics.fmean(xs)
    error = math.sqrt(rest / (_BLOCKS - 2) / sum((x - middle) ** 2 for x in xs))
    span = seen[-1][0] - seen[0][0]
    least, most = (slope - _T_95 * error) * span, (slope + _T_95 * error) * span
    return Trend(ys[0], ys[-1], statistics.fmean(ys), least, most, span / 60)


def report(
    times: Sequence[float], series: Mapping[str, Sequence[float]], bounds: Mapping[str, Flat | None]
) -> tuple[list[str], list[str]]:
    """A table in Markdown, a row for each series, and the names of those that grow too much.

    :param bounds: by the name of the series; None where growth is only shown.
    """
    rows = [
        "| | first | last | growth in the run (95 %) | an hour | may grow | |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    missed = []
    for name, values in series.items():
        found, flat = trend(times, values), bounds[name]
        verdict = found.verdict(flat) if flat else "shown"
        if verdict == MISSED:
            missed.append(name)
        rows.append(
            f"| {name} | {found.first:,.1f} | {found.last:,.1f} | "
            f"{found.least:+,.1f} to {found.most:+,.1f} | {found.an_hour:+,.1f} | "
            f"{f'{flat.most(found.mean):,.1f}' if flat else ''} | {verdict} |"
        )
    return rows, missed
