"""What reading a chain costs: our watcher beside the feed, Ponder and a loop with web3.py, on the same logs.

It takes about a quarter of an hour; ``--quick`` is a smoke run whose figures mean nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench.watching import others
from bench.watching.arena import Arena, node
from bench.watching.databases import cluster
from bench.watching.setting import recorded


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the report; 1 when a bar is missed."""
    options = _options(arguments)
    setup = recorded(options.blocks, options.logs)
    with (
        tempfile.TemporaryDirectory(prefix="gateway-bench-watch-") as name,
        cluster() as databases,
        node([setup], Path(name)) as served,
    ):
        arena = Arena(served, setup, databases, Path(name))
        for number in range(options.rounds):
            for reading in (others.web3_loop(arena, number), others.ponder(arena, number)):
                print(reading, reading.rate)
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--blocks", type=int, default=100_000)
    parser.add_argument("--logs", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    if options.quick:
        options.blocks, options.logs, options.rounds = 2_000, 1_000, 1
    return options


if __name__ == "__main__":
    sys.exit(main())
