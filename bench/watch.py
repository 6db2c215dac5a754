"""What reading a chain costs: our watcher beside the feed, Ponder and a loop with web3, on the same logs.

It takes about a quarter of an hour; ``--quick`` is a smoke run whose figures mean nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from bench.watching import decoding, others, ours, unhurried
from bench.watching.arena import Arena, Reading, node
from bench.watching.databases import Cluster, cluster
from bench.watching.setting import IDLE_CHAINS, recorded, watching

PARTS: Final = ("decode", "read", "idle", "live")


@dataclass(frozen=True, slots=True)
class Bar:
    """So much quicker than the other, in the median of the rounds, our watcher has to be."""

    theirs: str
    at_least: float


BARS: Final = (Bar(others.FEED, 0.8), Bar(others.PONDER, 3.0), Bar(others.WEB3, 2.0))


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the report; 1 when a bar is missed."""
    options = _options(arguments)
    held = []
    with tempfile.TemporaryDirectory(prefix="gateway-bench-watch-") as name, cluster() as databases:
        folder = Path(name)
        if "decode" in options.only:
            held.append(_decode(databases))
        if "read" in options.only:
            held.append(_read(options, databases, folder))
        if "idle" in options.only:
            held.append(_idle(databases, folder, options.idle_seconds))
        if "live" in options.only:
            held.append(_live(databases, folder, options.samples))
    return int(not all(held))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="these parts alone")
    parser.add_argument("--blocks", type=int, default=100_000)
    parser.add_argument("--logs", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle-seconds", type=float, default=60.0)
    parser.add_argument("--samples", type=int, default=200, help="of the time from block to answer")
    parser.add_argument("--without", nargs="+", choices=("ponder", "web3"), default=())
    parser.add_argument(
        "--as-it-comes", action="store_true", help="a last round of Ponder with its limit of calls (minutes)"
    )
    options = parser.parse_args(arguments)
    if options.quick:
        options.blocks, options.logs, options.rounds = 2_000, 1_000, 1
        options.idle_seconds, options.samples = 1.0, 3
    return options


def _decode(databases: Cluster) -> bool:
    found = decoding.costs(recorded(10_000, 5_000), databases)
    print("| step | µs a log, median (min to max) |\n|---|---:|")
    for cost in found:
        print(f"| {cost.what} | {cost.median:.1f} ({cost.lowest:.1f} to {cost.highest:.1f}) |")
    return _verdict("decoding, µs a log", found[0].median, at_most=decoding.BAR_US)


def _read(options: argparse.Namespace, databases: Cluster, folder: Path) -> bool:
    setup = recorded(options.blocks, options.logs)
    rounds: list[list[Reading]] = []
    with node([setup], folder) as served:
        arena = Arena(served, setup, databases, folder)
        for number in range(options.rounds):
            rounds.append(_round(arena, number, options.without))
            sys.stderr.write(f"round {number + 1} of {options.rounds} done\n")
        if options.as_it_comes:
            rounds.append([others.ponder(arena, options.rounds, lifted=False)])
    print(f"\n{options.blocks:,} blocks, {options.logs:,} logs, {options.rounds} rounds, PostgreSQL\n")
    print(
        "| reader | seconds, median (min to max) | logs a second | its processor's seconds | HTTP requests |"
    )
    print("|---|---:|---:|---:|---:|")
    for who in dict.fromkeys(reading.who for made in rounds for reading in made):
        _row([reading for made in rounds for reading in made if reading.who == who])
    held = [_bar(bar, rounds) for bar in BARS if any(bar.theirs == r.who for r in rounds[0])]
    return all(held)


def _round(arena: Arena, number: int, without: Sequence[str]) -> list[Reading]:
    """Everybody once; who begins changes from round to round."""
    watched = ours.watch(arena, number)
    document = orjson.dumps(watching(ours.URLS))
    turns: list[Callable[[], Reading]] = [lambda: others.feed(arena, document, watched.lines)]
    if "web3" not in without:
        turns.append(lambda: others.web3_loop(arena, number))
    if "ponder" not in without:
        turns.append(lambda: others.ponder(arena, number))
    turns = turns[number % len(turns) :] + turns[: number % len(turns)]
    made = [watched.read, watched.proven]
    for turn in turns:
        made.append(turn())
    for reading in made:
        sys.stderr.write(f"{reading.who}: {reading.seconds:.1f} s, {reading.cpu:.1f} s of the processor\n")
    return made


def _row(readings: Sequence[Reading]) -> None:
    seconds = [reading.seconds for reading in readings]
    rate = statistics.median(reading.facts / reading.seconds for reading in readings)
    cpu = statistics.median(reading.cpu for reading in readings)
    spread = f"{statistics.median(seconds):.1f} ({min(seconds):.1f} to {max(seconds):.1f})"
    print(f"| {readings[0].who} | {spread} | {rate:,.0f} | {cpu:.1f} | {readings[0].requests:,} |")


def _bar(bar: Bar, rounds: Sequence[Sequence[Reading]]) -> bool:
    pairs = [(_of(made, bar.theirs), _of(made, ours.READ)) for made in rounds if len(made) > 1]
    ratios = [theirs.seconds / own.seconds for theirs, own in pairs]
    less = statistics.median(theirs.cpu / own.cpu for theirs, own in pairs)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}; by the processor's time {less:.2f}"
    what = f"times the speed of {bar.theirs} ({spread})"
    return _verdict(what, statistics.median(ratios), at_least=bar.at_least)


def _of(made: Sequence[Reading], who: str) -> Reading:
    return next(reading for reading in made if reading.who == who)


def _idle(databases: Cluster, folder: Path, seconds: float) -> bool:
    found = unhurried.idling(databases, folder, seconds)
    print(
        f"\n{IDLE_CHAINS} idle chains: {found.watcher:.1%} of a core, PostgreSQL {found.database:.1%}, "
        f"{found.requests_a_second:.1f} requests a second"
    )
    return _verdict("cores of the watcher", found.watcher, at_most=unhurried.IDLE_BAR)


def _live(databases: Cluster, folder: Path, samples: int) -> bool:
    found = unhurried.lateness(databases, folder, samples)
    late = unhurried.p99(found)
    print(
        f"\n{samples} sends, poll interval {unhurried.POLL_SECONDS} s: from block to answer "
        f"p50 {statistics.median(found):.3f} s, p99 {late:.3f} s, longest {max(found):.3f} s"
    )
    over = late - unhurried.POLL_SECONDS
    return _verdict("p99 over the poll interval, s", over, at_most=unhurried.LIVE_BAR)


def _verdict(
    what: str, figure: float, *, at_least: float | None = None, at_most: float | None = None
) -> bool:
    held = (at_least is None or figure >= at_least) and (at_most is None or figure <= at_most)
    bound = f"at least {at_least}" if at_most is None else f"at most {at_most}"
    print(f"{what}: {figure:.3g}; the bar is {bound}{'' if held else '; MISSED'}", flush=True)
    return held


if __name__ == "__main__":
    sys.exit(main())
