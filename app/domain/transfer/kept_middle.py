"""The middle of sorted latencies and some of its neighbours, kept so that a median needs nothing else.

It is moved along with every latency that comes or goes, and exact all the while. The latencies that are not
kept are counted: how many are below the kept ones, and how many above (docs/decisions/0036-kept-middles.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

ROOM: Final = 48
"""Transfers that are kept on each side of the middle, at least where there are so many."""

SLACK: Final = 16
"""With fewer of them on a side, while more are only counted there, the middle is to be kept anew."""

LONGEST: Final = 1 << 62
"""Longer than any latency, in microseconds."""


def middle_ranks(total: int) -> tuple[int, int]:
    """The ranks of the middle of ``total`` sorted values, from 0; both are the same where it is odd."""
    return (total - 1) // 2, total // 2


@dataclass(frozen=True, slots=True)
class KeptMiddle:
    """How many of some latencies (microseconds) are under ``low``, over ``high``, and each value in between.

    ``values`` has how many there are by latency, in any order, and no zeros. Where nothing is below, ``low``
    is 0, and where nothing is above, ``high`` is ``LONGEST``: a new extreme is one of the values.
    """

    low: int
    high: int
    below: int
    above: int
    values: Mapping[int, int]

    @property
    def total(self) -> int:
        """How many latencies there are."""
        return self.below + sum(self.values.values()) + self.above

    @property
    def is_off_centre(self) -> bool:
        """Whether the middle is outside the values, or so near to an end of them that it soon may be."""
        lower, upper = middle_ranks(self.total)
        under, over = lower - self.below, self.total - self.above - 1 - upper
        return (self.below > 0 and under < SLACK) or (self.above > 0 and over < SLACK)

    def moved(self, change: Mapping[int, int]) -> KeptMiddle:
        """With so many more or fewer of some latencies, and of the values only those around the middle."""
        below, above, values = self.below, self.above, dict(self.values)
        for latency, n in change.items():
            if latency < self.low:
                below += n
            elif latency > self.high:
                above += n
            else:
                values[latency] = values.get(latency, 0) + n
        found = {latency: n for latency, n in values.items() if n}
        return replace(self, below=below, above=above, values=found).narrowed()

    def narrowed(self) -> KeptMiddle:
        """With ``ROOM`` transfers on each side of the middle, and those of the same latency."""
        lower, upper = middle_ranks(self.total)
        ordered, rank = sorted(self.values.items()), self.below
        first, last = len(ordered), -1
        for index, (_latency, n) in enumerate(ordered):
            if rank + n > lower - ROOM and rank <= upper + ROOM:
                first, last = min(first, index), index
            rank += n
        if last < 0:
            return self._opened()  # the middle is somewhere else
        low = self.low if first == 0 else ordered[first][0]
        high = self.high if last == len(ordered) - 1 else ordered[last][0]
        below = self.below + sum(n for _latency, n in ordered[:first])
        above = self.above + sum(n for _latency, n in ordered[last + 1 :])
        return KeptMiddle(low, high, below, above, dict(ordered[first : last + 1]))._opened()

    def _opened(self) -> KeptMiddle:
        return replace(self, low=self.low if self.below else 0, high=self.high if self.above else LONGEST)

    def middle(self, correction: Mapping[int, int]) -> Sequence[int] | None:
        """The middle of the sorted latencies, corrected by so many more or fewer of some.

        :return: nothing when there are none, one value of an odd count, two of an even one; None where the
            values do not tell, because the correction moves the middle out of them.
        """
        corrected, values = self.below, dict(self.values)
        total = self.total + sum(correction.values())
        for latency, n in correction.items():
            if latency < self.low:
                corrected += n
            elif latency <= self.high:
                values[latency] = values.get(latency, 0) + n
        if total == 0:
            return ()
        lower, upper = middle_ranks(total)
        found: list[int] = []
        rank = corrected
        for latency, n in sorted(values.items()):
            found += [latency for wanted in {lower, upper} if rank <= wanted < rank + n]
            rank += n
        return found if len(found) == 1 + (upper - lower) else None


NONE: Final = KeptMiddle(0, LONGEST, 0, 0, {})
"""Of no latencies."""
