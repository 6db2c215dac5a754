"""How much one request may have: calls in a batch, blocks in a range, contracts in a filter.

URLs limit what they answer by number, by bytes or by time. Most do not say their limit before, and many not
afterwards either: they drop the connection or return an error in words of their own. So where the size may be
the reason, one piece is tried. If that works, half of the size is used from now on for this URL. If not, the
URL itself fails, and the size stays.

A size that was refused is not tried again at once. It grows only below it, and beyond it after several good
answers: a range full of logs may have been the reason, and it has been read by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from msgspec import Struct

from app.watcher.rpc.faults import RateLimited, RpcFault, TooLarge

T = TypeVar("T")

FAST_SECONDS: Final = 2.0
"""An answer under this lets the size grow."""

SLOW_SECONDS: Final = 8.0
"""An answer over this makes it smaller: the next one may be longer, and timeouts cut answers off."""

MANY_LOGS: Final = 8_000
"""Logs in one answer at which growing stops: most nodes refuse more than 10,000."""

LEAST_GOOD: Final = 4
MOST_GOOD: Final = 64
"""Good answers at the ceiling after which a larger size is tried again: each refusal doubles their number."""


class Size(Struct):
    """How many pieces one request to one URL has.

    :param now: of the next request.
    :param largest: that is ever requested.
    :param ceiling: below which it grows with each good answer.
    :param good: answers at the ceiling, ``needed`` of which let a larger size be tried.
    :param doubted: the number that failed while one piece is tried, and the size before; None otherwise.
    """

    now: int
    largest: int
    ceiling: int = 0
    good: int = 0
    needed: int = LEAST_GOOD
    doubted: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        self.ceiling = self.ceiling or self.largest

    def answered(self, count: int, seconds: float = 0.0, logs: int = 0) -> None:
        """Note an answer about ``count`` pieces, with its duration and its number of logs.

        A request for fewer pieces than allowed says nothing about a full one.
        """
        if self.doubted is not None:
            self.refused(self.doubted[0])
        elif seconds > SLOW_SECONDS or logs > 2 * MANY_LOGS:
            self.now, self.good = max(1, min(self.now, count) // 2), 0
        elif count < self.now or seconds >= FAST_SECONDS or logs > MANY_LOGS:
            return
        elif self.now < self.ceiling:
            self.now = min(self.now * 2, self.ceiling)
        elif self.now > self.ceiling:  # a larger size was tried
            self.ceiling, self.good, self.needed = self.now, 0, LEAST_GOOD
        elif self.now < self.largest:
            self.good += 1
            if self.good >= self.needed:
                self.now = min(self.now * 2, self.largest)

    def refused(self, count: int, most: int | None = None) -> None:
        """Note that ``count`` pieces were too many.

        :param most: pieces that the node says it takes. If that is no fewer than it refused, their number was
            not the reason. After another refusal it is not believed: some name one less each time.
        """
        if most is not None and most < count and self.needed < MOST_GOOD:
            self.now, self.needed = max(1, most), MOST_GOOD
        else:
            self.now, self.needed = max(1, count // 2), min(self.needed * 2, MOST_GOOD)
        self.ceiling = self.now
        self.good, self.doubted = 0, None

    def doubt(self, count: int) -> None:
        """Note that ``count`` pieces failed, perhaps for their number: the next request has one."""
        self.doubted, self.now = (count, self.now), 1

    def failed(self) -> None:
        """Note that one piece failed, too: the number was not the reason."""
        if self.doubted is not None:
            self.now, self.doubted = self.doubted[1], None


def in_pieces(
    size: Size,
    count: int,
    question: Callable[[int, int], T],
    monotonic: Callable[[], float],
    logs_of: Callable[[T], int] = lambda _answer: 0,
) -> Iterator[T]:
    """The answers about ``count`` pieces, in as few requests as the URL takes.

    :param question: called with the first piece of a request and their number.
    :param monotonic: seconds that never go back.
    :param logs_of: how many logs an answer has.
    :raises RpcFault: of one piece; of several where the URL allows the next request only later.
    """
    first = 0
    while first < count:
        many = min(size.now, count - first)
        started = monotonic()
        try:
            answer = question(first, many)
        except RpcFault as fault:
            if many == 1 or not fault.may_be_size:
                size.failed()
                raise
            if isinstance(fault, TooLarge):
                size.refused(many, fault.suggested)
                continue
            size.doubt(many)
            if isinstance(fault, RateLimited) and fault.seconds is not None:
                raise
            continue
        size.answered(many, monotonic() - started, logs_of(answer))
        yield answer
        first += many
