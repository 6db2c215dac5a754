"""What is counted when it happens; app/monitoring/request_metrics.py makes metrics of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol


class Counters(Protocol):
    """Called by use cases with what happened. They neither wait nor raise."""

    def estimate(self, reason: str) -> None:
        """An estimate was answered.

        :param reason: why it was refused; empty where there was an estimate.
        """

    def feed(self, outcomes: Mapping[tuple[str, str], int]) -> None:
        """Lines of a feed were validated, and the accepted ones are committed.

        :param outcomes: by the type of event, and ``accepted``, ``repeated`` or ``refused``.
        """


class _Nothing:
    """Counts nothing, where metrics are off."""

    def estimate(self, reason: str) -> None:
        pass

    def feed(self, outcomes: Mapping[tuple[str, str], int]) -> None:
        pass


NOTHING_COUNTED: Final[Counters] = _Nothing()
