"""The pairs that are measured in turns, and the limits of their ratios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bench.contenders import (
    ESTIMATE,
    ESTIMATE_SQLITE,
    FASTAPI,
    FLOOR,
    FLOOR_GRANIAN,
    LATENCY,
    SMALLEST,
    STATUS,
    STATUS_GRANIAN,
    Contender,
)
from bench.duels.ratios import Bound
from bench.duels.rounds import Round, p99, rate


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure of the first over that of the second."""

    what: str
    figure: Callable[[Round], float]
    bound: Bound


@dataclass(frozen=True, slots=True)
class Match:
    """Two contestants, and the limits of their ratios."""

    ours: Contender
    theirs: Contender
    bars: tuple[Bar, ...]


SHOWN: Final = Bound()

MATCHES: Final = (
    Match(ESTIMATE, SMALLEST, (Bar("estimate / smallest Flask route", rate, Bound(at_least=0.5)),)),
    Match(ESTIMATE_SQLITE, SMALLEST, (Bar("estimate on SQLite / smallest Flask route", rate, SHOWN),)),
    Match(STATUS, FASTAPI, (Bar("status / FastAPI with asyncpg", rate, Bound(at_least=0.4)),)),
    Match(
        STATUS_GRANIAN, FASTAPI, (Bar("status, Granian / FastAPI with asyncpg", rate, Bound(at_least=0.6)),)
    ),
    Match(
        STATUS,
        FLOOR,
        (
            Bar("status / floor", rate, Bound(at_least=0.65)),
            Bar("status / floor, p99", p99, Bound(at_most=1.6)),
        ),
    ),
    Match(STATUS_GRANIAN, FLOOR_GRANIAN, (Bar("status / floor, both under Granian", rate, SHOWN),)),
    Match(LATENCY, FLOOR, (Bar("latency / floor", rate, Bound(at_least=0.95)),)),
)

SMALL_TO_LARGE: Final = Bar("events in posts of 10 / of 1,000", rate, Bound(at_least=0.3))
"""Events a second of eight reporters over those of one: 3,000 on a host that takes 6,600 in large posts."""

TWO_WORKERS: Final = Bar("events in posts of 10, two workers / one", rate, Bound(at_least=0.7))
TWO_GATEWAYS: Final = Bar("events in posts of 10, two gateways / one", rate, Bound(at_least=0.55))
SMALL_ANSWER: Final = Bound(at_most=100.0)
"""Milliseconds, 99 of 100 answers to small posts."""

STEADY: Final = STATUS.name
STEADY_BOUND: Final = Bound(at_least=0.7)
"""The slowest round of this contestant over its median round."""
