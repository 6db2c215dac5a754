"""The cost of an event, with more and more of them already in (PostgreSQL).

Each measurement takes the same number of events about new transfers, in several rounds. The cost must not
grow with the log: the bar is 1.3 times the cost at the start, at a million events.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from datetime import UTC, datetime

import orjson

from app.feed.services.ingest import ingest_lines
from app.network.document import import_network
from app.sandbox.catalogue import network_document
from tests.gateway import Gateway, current_gateway
from tests.load.events import events
from tests.load.questions import OPERATOR
from tests.postgres import gateway_on, postgres

LEVELS = (0, 100_000, 1_000_000)
ROUNDS = 5
PER_ROUND = 4_000
BAR = 1.3


def measure(gateway: Gateway, first: int, now: datetime) -> list[float]:
    """Microseconds per event, a figure a round."""
    figures = []
    for number in range(ROUNDS):
        lines = list(events(first + number * PER_ROUND, PER_ROUND, now))
        start = time.perf_counter()
        verdict = ingest_lines(gateway.database, gateway.intake, lines, "bench")
        figures.append((time.perf_counter() - start) / PER_ROUND * 1e6)
        if verdict.accepted != PER_ROUND:
            raise SystemExit(f"the feed was not taken: {verdict.refused[:1]}")
    return figures


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 when the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    quick = parser.parse_args(arguments).quick
    now = datetime.now(UTC)
    costs: list[float] = []
    print("events already in | µs an event (median, min to max) | events a second | times the start")
    with postgres() as url, gateway_on(url):
        gateway = current_gateway()
        import_network(*gateway.editing, orjson.dumps(network_document()), actor=OPERATOR)
        ingest_lines(
            gateway.database, gateway.intake, events(0, PER_ROUND, now), "bench"
        )  # warms up and is not counted
        already = PER_ROUND
        for level in LEVELS[:1] if quick else LEVELS:
            if level > already:
                ingest_lines(gateway.database, gateway.intake, events(already, level - already, now), "bench")
                already = level
            figures = measure(gateway, already, now)
            already += ROUNDS * PER_ROUND
            cost = statistics.median(figures)
            costs.append(cost)
            spread = f"{cost:.0f} ({min(figures):.0f} to {max(figures):.0f})"
            ratio = cost / costs[0]
            print(f"{level:>17,} | {spread:>33} | {1e6 / cost:>15,.0f} | {ratio:>15.2f}", flush=True)
    print(f"{costs[-1] / costs[0]:.2f} times the cost at the start; the bar is {BAR}")
    return int(costs[-1] / costs[0] > BAR)


if __name__ == "__main__":
    sys.exit(main())
