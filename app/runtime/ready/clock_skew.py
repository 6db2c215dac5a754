"""How far this machine's clock and the database's are apart.

Times of the feed, windows of latency, sessions and leases are compared with the clock of whoever asks. With
two clocks that differ, a transfer is late for one process and not for the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, Engine

from app.db.engine import ask
from app.queries.runtime import database_time

MOST_SECONDS: Final = 5.0
"""Clocks may be so far apart; those that are kept by NTP differ by thousandths of it."""

EVERY_SECONDS: Final = 3.0
"""So long a measurement counts: whoever asks for readiness every second makes no statement each time."""


class ClockSkew:
    """The difference between two clocks, as one process measured it last; shared by its threads."""

    def __init__(
        self, engine: Engine, clock: Callable[[], datetime], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """
        :param engine: of the primary, for single-statement reads.
        :param clock: this machine's own, which no test and no replay decides.
        """
        self._engine = engine
        self._clock = clock
        self._monotonic = monotonic
        self._measured: tuple[float, float] | None = None
        """When, and what came of it."""

    def complaint(self) -> str | None:
        """What is wrong with the clocks, in words for the operator; None where they agree.

        :raises SQLAlchemyError: the database cannot be asked.
        """
        skew = self.seconds()
        if abs(skew) <= MOST_SECONDS:
            return None
        where = "ahead of" if skew > 0 else "behind"
        return f"clocks: the database's is {abs(skew):.0f} s {where} this machine's; check NTP on both"

    def seconds(self) -> float:
        """By how many seconds the database's clock is ahead at least; negative where it is behind.

        :raises SQLAlchemyError: the database cannot be asked.
        """
        now = self._monotonic()
        if self._measured is None or now - self._measured[0] > EVERY_SECONDS:
            # SQLite has the clock of this process.
            skew = 0.0 if self._engine.dialect.name == "sqlite" else ask(self._engine, self._measure)
            self._measured = now, skew
        return self._measured[1]

    def _measure(self, connection: Connection) -> float:
        """The server looked at its clock at some time between these two: half of the round trip is taken
        off the difference to the middle. So a slow answer is never taken for a wrong clock.
        """
        before = self._clock()
        at_server = database_time(connection)
        after = self._clock()
        if at_server > after:
            return (at_server - after).total_seconds()
        return min(0.0, (at_server - before).total_seconds())
