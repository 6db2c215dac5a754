"""What is counted as it happens; app/monitoring/request_metrics.py makes metrics of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol


class Counters(Protocol):
    """Told by use cases what happened. They neither wait nor raise."""

    def estimate(self, reason: str) -> None:
        """An estimate was answered.

        :param reason: why it was refused; empty where it was given.
        """

    def feed(self, outcomes: Mapping[tuple[str, str], int]) -> None:
        """So many lines of a feed were judged, and what was accepted is committed.

        :param outcomes: by the type of event, and ``accepted``, ``repeated`` or ``refused``.
        """


class _Nothing:
    """Counts nothing: nobody asked for metrics."""

    def estimate(self, reason: str) -> None:
        pass

    def feed(self, outcomes: Mapping[tuple[str, str], int]) -> None:
        pass


NOTHING_COUNTED: Final[Counters] = _Nothing()
