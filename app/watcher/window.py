"""How many blocks are asked for at once: doubled while answers come fast, halved when they do not.

Nodes bound a range by blocks, by logs, by bytes or by time, differently and without saying so before. What a
node refused is not tried again at once: growing stops below it and goes on after many good answers, because a
range full of logs may have been the reason, and it lies behind by then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

FAST_SECONDS: Final = 2.0
"""An answer under this lets the window grow."""

SLOW_SECONDS: Final = 8.0
"""An answer over this makes it smaller: the next range may have more logs, and deadlines cut answers off."""

MANY_LOGS: Final = 8_000
"""Logs in one answer at which growing stops: most nodes refuse more than 10,000."""

FORGIVEN_AFTER: Final = 64
"""Good answers at the largest size after which a larger one is tried again."""

LARGEST: Final = 100_000


@dataclass(frozen=True, slots=True)
class Window:
    """The size of the next range in blocks, and what was learned.

    :param ceiling: what is not exceeded for now.
    :param good: answers in a row at the ceiling.
    """

    size: int = 256
    ceiling: int = LARGEST
    good: int = 0

    def answered(self, asked: int, seconds: float, logs: int) -> Window:
        """After an answer to a range of ``asked`` blocks that took so long and had so many logs.

        A shorter range than the window, at the head of the chain, says nothing about a full one.
        """
        if seconds > SLOW_SECONDS or logs > 2 * MANY_LOGS:
            return replace(self, size=max(1, min(self.size, asked) // 2), good=0)
        if asked < self.size or seconds >= FAST_SECONDS or logs > MANY_LOGS:
            return self
        if self.size < self.ceiling:
            return replace(self, size=min(self.size * 2, self.ceiling), good=0)
        if self.good + 1 < FORGIVEN_AFTER:
            return replace(self, good=self.good + 1)
        return replace(self, ceiling=min(self.ceiling * 2, LARGEST), good=0)

    def refused(self, asked: int, most: int | None = None) -> Window:
        """After a node refused a range of ``asked`` blocks as too large.

        :param most: blocks that the node says it takes.
        """
        half = max(1, asked // 2)
        if most is None or most >= asked:
            # What it names is no more than what it refused: then it is not blocks that were too many.
            return replace(self, size=half, ceiling=max(half, min(self.ceiling, asked - 1)), good=0)
        return replace(self, size=max(1, most), ceiling=max(1, most), good=0)

    @property
    def stuck(self) -> bool:
        """Whether it cannot become smaller: a node that refuses a single block cannot be read from."""
        return self.size == 1
