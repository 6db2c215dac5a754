"""Whether one process can serve, as it found out last; told from how busy it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy.exc import SQLAlchemyError

from app.db.postgresql import Answers, is_late
from app.deadlines import within

READY_SECONDS: Final = 1.5
"""How long the database may be silent before the gateway is not ready. Probes give up after a few seconds."""


NOT_LOOKED: Final = "the database has not answered in time since this process began"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the gateway can serve: what keeps it from that, and otherwise what its answer says."""

    complaint: str | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)


class Readiness:
    """What one process found out about itself."""

    def __init__(self, answers: Answers) -> None:
        """
        :param answers: of the primary, to whatever this process requests.
        """
        self._answers = answers
        self._last = Verdict(NOT_LOOKED)

    def verdict(self, look: Callable[[], Verdict]) -> Verdict:
        """What ``look`` finds out, after ``READY_SECONDS`` at most.

        A database that answers requests is not away, however long it takes under load: then the last verdict
        holds. Otherwise all gateways would be taken out of service together when there is most to do. Before
        the first verdict there is none to hold: nobody knows whether this code can use the database.
        """
        try:
            with within(READY_SECONDS):
                self._last = look()
        except SQLAlchemyError as error:
            if not (is_late(error) and self._answers.came_within(READY_SECONDS)):
                self._last = Verdict(unreachable(error))
        return self._last


def unreachable(error: SQLAlchemyError) -> str:
    """What to say of a database that gives no answer, for its operator."""
    return f"the database cannot be reached ({type(error).__name__})"
