"""Counts of the outcomes of estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Engine, delete

from app.db.batched_counts import BatchedCounts
from app.db.upserts import add_up
from app.estimates.models import EstimateCount
from app.observability.counters import NOTHING_COUNTED, Counters
from app.values.codes import ErrCode, Reason
from app.values.errors import GatewayError
from app.values.times import MINUTE, minute_of

RETENTION: Final = timedelta(days=7)
PRUNE_EVERY: Final = 60
"""Minutes between two deletions of what is older than ``RETENTION``."""

ANSWERED: Final = (int(ErrCode.ERROR_CODE_UNDEFINED), "")
"""Code and reason under which estimates that were given are counted."""

_FAILED: Final = (int(ErrCode.ERROR_CODE_COMMON), Reason.INTERNAL.value)

CountedOutcome = tuple[int, str]
"""``err.code`` and reason of an answer to an estimate; ``ANSWERED`` for an estimate."""


class EstimateCounts(BatchedCounts[CountedOutcome]):
    """How many estimates of each minute had each outcome."""

    what = "estimates"

    def __init__(
        self,
        engine: Engine,
        clock: Callable[[], datetime],
        seconds: float,
        counters: Counters = NOTHING_COUNTED,
    ) -> None:
        """
        :param counters: count each outcome as well, independently of ``seconds``.
        """
        super().__init__(engine, clock, seconds)
        self._counters = counters
        self._pruned: int | None = None

    def _add(self, counted: CountedOutcome) -> None:
        self._counters.estimate(counted[1])
        super()._add(counted)

    def answered(self) -> None:
        """Count an estimate that was given."""
        self._add(ANSWERED)

    def refused(self, error: Exception) -> None:
        """Count a refused estimate. Any exception but ``GatewayError`` counts as internal."""
        if isinstance(error, GatewayError):
            self.refused_for(error.code, error.reason)
        else:
            self._add(_FAILED)

    def refused_for(self, code: ErrCode, reason: Reason) -> None:
        """Count an estimate that was refused with this code and reason."""
        self._add((int(code), reason.value))

    def _write(self, connection: Connection, counts: Mapping[CountedOutcome, int]) -> None:
        minute = minute_of(self._clock())
        rows: list[dict[str, Any]] = [
            {"minute": minute, "code": code, "reason": reason, "count": count}
            for (code, reason), count in sorted(counts.items())
        ]
        add_up(connection, EstimateCount, rows)
        if self._pruned is None or minute - self._pruned >= PRUNE_EVERY:
            oldest = minute - RETENTION // MINUTE
            connection.execute(delete(EstimateCount).where(EstimateCount.minute < oldest))
            self._pruned = minute
