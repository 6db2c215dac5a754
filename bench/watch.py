"""The cost of reading a chain: our watcher compared with the feed, a loop with web3 and Ponder, on the same
logs.

``make bench ONLY=watch`` takes 45 minutes, and needs Node and npm for Ponder; ``ARGS=--quick`` is a smoke
run whose figures mean nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import orjson

from bench.watching import others, ours
from bench.watching.arena import Arena, Reading, arena
from bench.watching.setting import watching

BARS: Final = {others.FEED: 0.65, others.WEB3: 2.0, others.PONDER: 2.5}
"""Our watcher has to have so many times the speed of the other, in the median of the rounds."""


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the report; 1 when a bar is missed."""
    options = _options(arguments)
    rounds: list[list[Reading]] = []
    with (
        tempfile.TemporaryDirectory(prefix="gateway-bench-watch-") as folder,
        arena(options.blocks, options.logs, Path(folder)) as place,
    ):
        for number in range(options.rounds):
            rounds.append(_round(place, number))
            sys.stderr.write(f"round {number + 1} of {options.rounds} done\n")
    print(f"{options.blocks:,} blocks, {options.logs:,} logs, {options.rounds} rounds, PostgreSQL\n")
    print("| reader | seconds, median (min to max) | logs a second | its CPU seconds | HTTP requests |")
    print("|---|---:|---:|---:|---:|")
    for readings in zip(*(sorted(made, key=lambda one: one.who) for made in rounds), strict=True):
        _row(readings)
    held = [_holds(theirs, at_least, rounds) for theirs, at_least in BARS.items()]
    return int(not all(held) and not options.quick)


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


def _round(place: Arena, number: int) -> list[Reading]:
    """Each reader once; the reader after our watcher changes from round to round."""
    watched = ours.watch(place, number)
    document = orjson.dumps(watching(ours.URLS))
    turns: list[Callable[[], Reading]] = [
        lambda: others.feed(place, document, watched.lines),
        lambda: others.web3_loop(place, number),
        lambda: others.ponder(place, number),
    ]
    return [watched.read, watched.proven, *(turn() for turn in turns[:: -1 if number % 2 else 1])]


def _row(readings: Sequence[Reading]) -> None:
    seconds = [reading.seconds for reading in readings]
    rate = statistics.median(reading.facts / reading.seconds for reading in readings)
    cpu = statistics.median(reading.cpu for reading in readings)
    spread = f"{statistics.median(seconds):.1f} ({min(seconds):.1f} to {max(seconds):.1f})"
    print(f"| {readings[0].who} | {spread} | {rate:,.0f} | {cpu:.1f} | {readings[0].requests:,} |")


def _holds(theirs: str, at_least: float, rounds: Sequence[Sequence[Reading]]) -> bool:
    pairs = [(_of(made, theirs), _of(made, ours.READ)) for made in rounds]
    ratios = [their.seconds / own.seconds for their, own in pairs]
    found = statistics.median(ratios)
    by_cpu = statistics.median(their.cpu / own.cpu for their, own in pairs)
    print(
        f"{found:.2f} ({min(ratios):.2f} to {max(ratios):.2f}) times the speed of {theirs}, by CPU time "
        f"{by_cpu:.2f}; the bar is {at_least}{'' if found >= at_least else '; MISSED'}"
    )
    return found >= at_least


def _of(made: Sequence[Reading], who: str) -> Reading:
    return next(reading for reading in made if reading.who == who)


if __name__ == "__main__":
    sys.exit(main())
