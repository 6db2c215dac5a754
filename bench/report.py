"""Medians with their spread, ratios first."""

from __future__ import annotations

import statistics
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass

from bench.contenders import FASTAPI, FLOOR, SMALLEST
from bench.load import Load


@dataclass(frozen=True, slots=True)
class Round:
    """One contestant in one round; processor time a request, in microseconds."""

    name: str
    load: Load
    server_us: float
    database_us: float


@dataclass(frozen=True, slots=True)
class Bar:
    """What must hold: a ratio between two contestants of the same round."""

    what: str
    ours: str
    theirs: str
    figure: Callable[[Round], float]
    at_least: float | None = None
    at_most: float | None = None

    def held_by(self, ratio: float) -> bool:
        """Whether the ratio is within the bar."""
        if self.at_least is not None and ratio < self.at_least:
            return False
        return self.at_most is None or ratio <= self.at_most

    def __str__(self) -> str:
        return f"≥ {self.at_least}" if self.at_least is not None else f"≤ {self.at_most}"


def rate(measured: Round) -> float:
    """Answers a second."""
    return measured.load.per_second


def p99(measured: Round) -> float:
    """The time within which 99 of 100 requests were answered, in microseconds."""
    return measured.load.p99_us


BARS = (
    Bar("status / floor, requests a second", "status, PostgreSQL, gunicorn", FLOOR, rate, at_least=0.85),
    Bar("status / floor, p99", "status, PostgreSQL, gunicorn", FLOOR, p99, at_most=1.5),
    Bar("estimate / smallest Flask route", "estimate, PostgreSQL, gunicorn", SMALLEST, rate, at_least=0.6),
    Bar("the same on SQLite", "estimate, SQLite, gunicorn", SMALLEST, rate, at_least=0.6),
    Bar("latency / floor", "latency, PostgreSQL, gunicorn", FLOOR, rate, at_least=0.7),
    Bar("status, Granian / FastAPI with asyncpg", "status, PostgreSQL, granian", FASTAPI, rate, at_least=0.8),
)


def ratios(rounds: list[Round], bar: Bar) -> list[float]:
    """The ratio in each round, so that what slows a whole round slows both sides of it."""
    ours = [bar.figure(r) for r in rounds if r.name == bar.ours]
    theirs = [bar.figure(r) for r in rounds if r.name == bar.theirs]
    return [a / b for a, b in zip(ours, theirs, strict=True)] if ours and theirs else []


def print_report(rounds: list[Round], options: Namespace) -> bool:
    """The bars, then every contestant, as tables in Markdown; whether all bars are held."""
    all_held = True
    print(
        f"{options.processes} processes with {options.threads} threads each, {options.connections} "
        f"connections, {options.rounds} rounds of {options.seconds:g} s, {options.transfers:,} transfers.\n"
    )
    print("| ratio | bar | median (min to max) | |")
    print("|---|---:|---:|---|")
    for bar in BARS:
        if found := ratios(rounds, bar):
            middle = statistics.median(found)
            all_held &= bar.held_by(middle)
            held = "held" if bar.held_by(middle) else "**missed**"
            print(f"| {bar.what} | {bar} | {middle:.2f} ({min(found):.2f} to {max(found):.2f}) | {held} |")
    print(
        "\n| contestant | requests a second (min to max) | p50 ms | p99 ms | bytes | server µs CPU "
        "| database µs CPU |\n|---|---:|---:|---:|---:|---:|---:|"
    )
    for name in dict.fromkeys(r.name for r in rounds):
        print(_line(name, [r for r in rounds if r.name == name]))
    return all_held


def _line(name: str, rounds: list[Round]) -> str:
    rates = [rate(r) for r in rounds]

    def middle(figure: Callable[[Round], float]) -> float:
        return statistics.median(figure(r) for r in rounds)

    return (
        f"| {name} | {statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f}) "
        f"| {middle(lambda r: r.load.p50_us) / 1000:.2f} | {middle(p99) / 1000:.2f} "
        f"| {middle(lambda r: r.load.bytes / r.load.requests):.0f} | {middle(lambda r: r.server_us):.0f} "
        f"| {middle(lambda r: r.database_us):.0f} |"
    )
