"""The interval of the ratios of some rounds, and whether it holds a bar. Pure and without chance."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

RESAMPLES: Final = 4_000
CONFIDENCE: Final = 0.95
FEWEST: Final = 6
"""Of fewer ratios not even the range from the lowest to the highest covers the median with 95 % confidence:
it misses it when all lie on one side, which is twice ``2**-n``."""

_SEED: Final = 14


class Verdict(Enum):
    HELD = "held"
    MISSED = "**missed**"
    UNCLEAR = "not clear"


@dataclass(frozen=True, slots=True)
class Interval:
    """The interval of the median of unlimited rounds, with ``CONFIDENCE``."""

    low: float
    high: float


ANYWHERE: Final = Interval(0.0, math.inf)


@dataclass(frozen=True, slots=True)
class Bound:
    """The limit of a ratio: at least or at most so much; none when it is only shown."""

    at_least: float | None = None
    at_most: float | None = None

    def verdict(self, found: Interval) -> Verdict:
        """Held or missed when the whole interval is on one side of the bar."""
        if self._holds(found.low) and self._holds(found.high):
            return Verdict.HELD
        return Verdict.UNCLEAR if self._holds(found.low) or self._holds(found.high) else Verdict.MISSED

    def _holds(self, ratio: float) -> bool:
        above = self.at_least is None or ratio >= self.at_least
        return above and (self.at_most is None or ratio <= self.at_most)

    @property
    def is_bar(self) -> bool:
        return self.at_least is not None or self.at_most is not None

    def __str__(self) -> str:
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return "" if self.at_most is None else f"≤ {self.at_most:g}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The median of some ratios and the interval around it."""

    median: float
    interval: Interval


def estimate(ratios: Sequence[float]) -> Estimate:
    """The estimate of the median of these ratios, one a pair of neighbours.

    :raises ValueError: there are none.
    """
    if not ratios:
        raise ValueError("no ratios")
    return Estimate(statistics.median(ratios), bootstrap(ratios))


def bootstrap(ratios: Sequence[float]) -> Interval:
    """The middle ``CONFIDENCE`` of the medians of samples drawn from these with replacement."""
    if len(ratios) < FEWEST:
        return ANYWHERE
    draw = random.Random(_SEED)
    count = len(ratios)
    medians = sorted(statistics.median(draw.choices(ratios, k=count)) for _ in range(RESAMPLES))
    outside = round(RESAMPLES * (1 - CONFIDENCE) / 2)
    return Interval(medians[outside], medians[-1 - outside])


def slowest_to_median(rates: Sequence[float]) -> float:
    """The lowest of these as a part of their median.

    :raises ValueError: there are none.
    """
    if not rates:
        raise ValueError("no rates")
    return min(rates) / statistics.median(rates)
