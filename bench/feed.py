"""What an event costs, with ever more of them already in (PostgreSQL).

Each measurement takes the same number of events about new transfers, in several rounds. The cost
must not grow with the log: the bar is 1.3 times the cost at the start, at a million events.
"""

from __future__ import annotations

import hashlib
import statistics
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import orjson

from app.domain.audit import Actor, Source
from app.runtime.gateway import Gateway, current_gateway
from app.sandbox.network import network_document
from app.services.feed.ingest import ingest_lines
from app.services.network.document import import_network
from bench.database import gateway_on, postgres

LEVELS = (0, 100_000, 1_000_000)
ROUNDS = 5
PER_ROUND = 4_000
EVENTS_PER_TRANSFER = 4
OPERATOR = Actor("cli:bench", Source.CLI)
BAR = 1.3


def events(first: int, count: int, now: datetime) -> Iterator[bytes]:
    """So many events: pool transfers from send to release, one after the other."""
    for n in range(first // EVENTS_PER_TRANSFER, (first + count) // EVENTS_PER_TRANSFER):
        transfer_id = hashlib.sha256(b"bench %d" % n).hexdigest()
        sent = now - timedelta(days=6) + timedelta(milliseconds=400 * n % 500_000_000)
        block = 1_000_000 + n
        about = {"transfer_id": transfer_id}
        party = {"sender": "0x" + transfer_id[:40], "receiver": "0x" + transfer_id[:40]}
        route = {"src_chain_id": 1, "dst_chain_id": 56, "symbol": "USDT", "amount": "25000000"}
        steps = (
            (
                "transfer.sent",
                0,
                {"kind": "pool", "src_tx_hash": transfer_id, "block": block} | party | route,
            ),
            ("transfer.confirmed", 150, {"block": block}),
            ("network.status", 160, {"xfer_status": 2}),
            ("transfer.released", 240, {"dst_tx_hash": transfer_id, "block": 5 * block}),
        )
        for kind, seconds, fields in steps:
            at = (sent + timedelta(seconds=seconds)).isoformat()
            yield orjson.dumps({"id": f"{kind}-{n}", "type": kind, "at": at} | about | fields)


def measure(gateway: Gateway, first: int, now: datetime) -> list[float]:
    """Microseconds per event, a figure a round."""
    figures = []
    for round_number in range(ROUNDS):
        lines = list(events(first + round_number * PER_ROUND, PER_ROUND, now))
        start = time.perf_counter()
        verdict = ingest_lines(gateway, lines, "bench")
        figures.append((time.perf_counter() - start) / PER_ROUND * 1e6)
        if verdict.accepted != PER_ROUND:
            raise SystemExit(f"the feed was not taken: {verdict.refused[:1]}")
    return figures


def main() -> int:
    """Print the table; exit with 1 when the bar is missed."""
    now = datetime.now(UTC)
    costs: list[float] = []
    print("events already in | µs an event (median, min to max) | events a second | times the start")
    with postgres() as url, gateway_on(url):
        gateway = current_gateway()
        import_network(gateway, orjson.dumps(network_document()), actor=OPERATOR)
        ingest_lines(gateway, events(0, PER_ROUND, now), "bench")  # warms up and is not counted
        already = PER_ROUND
        for level in LEVELS:
            if level > already:
                ingest_lines(gateway, events(already, level - already, now), "bench")
                already = level
            figures = measure(gateway, already, now)
            already += ROUNDS * PER_ROUND
            cost = statistics.median(figures)
            costs.append(cost)
            spread = f"{cost:.0f} ({min(figures):.0f} to {max(figures):.0f})"
            print(
                f"{level:>17,} | {spread:>33} | {1e6 / cost:>15,.0f} | {cost / costs[0]:>15.2f}", flush=True
            )
    ratio = costs[-1] / costs[0]
    print(f"at {LEVELS[-1]:,} events: {ratio:.2f} times the cost at the start; the bar is {BAR}")
    return int(ratio > BAR)


if __name__ == "__main__":
    sys.exit(main())
