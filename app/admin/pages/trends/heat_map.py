"""The heat map of latencies: a grid of chains, each cell in one of five steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import log

from app.admin.pages.components import ChainName
from app.admin.pages.latencies import PairLatency

HEAT_STEPS = 5

WIDEST_GRID = 8
"""Destinations that a grid has room for beside each other; of more, the pairs are listed."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Sources down, destinations across; ``cells`` by their two ids, ``step`` 1 (quick) to 5 (slow)."""

    sources: tuple[ChainName, ...]
    destinations: tuple[ChainName, ...]
    cells: dict[tuple[int, int], PairLatency]
    steps: dict[tuple[int, int], int]

    @property
    def is_grid(self) -> bool:
        """Whether the grid fits on a screen."""
        return len(self.destinations) <= WIDEST_GRID

    @property
    def slowest(self) -> list[PairLatency]:
        """The pairs, the slowest median first."""
        return sorted(self.cells.values(), key=lambda cell: -cell.median_seconds)


def heat(latencies: Iterable[PairLatency]) -> HeatMap:
    """The grid of the pairs that have transfers.

    Steps are even on a logarithmic scale between the quickest and the slowest median: twice as long
    looks the same distance away wherever it is.
    """
    cells = {(cell.src.id, cell.dst.id): cell for cell in latencies}
    medians = [max(cell.median_seconds, 1.0) for cell in cells.values()]
    low, high = min(medians, default=1.0), max(medians, default=1.0)

    def step(seconds: float) -> int:
        if high <= low:
            return 1
        return 1 + min(HEAT_STEPS - 1, int(HEAT_STEPS * log(max(seconds, 1.0) / low) / log(high / low)))

    return HeatMap(
        sources=_distinct(cell.src for cell in cells.values()),
        destinations=_distinct(cell.dst for cell in cells.values()),
        cells=cells,
        steps={pair: step(cell.median_seconds) for pair, cell in cells.items()},
    )


def _distinct(chains: Iterable[ChainName]) -> tuple[ChainName, ...]:
    return tuple(sorted(set(chains), key=lambda chain: chain.id))
