"""Bars first, then every contestant, as tables in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.duels.bars import STEADY, STEADY_BOUND, Bar
from bench.duels.noise import QUIET
from bench.duels.ratios import ANYWHERE, Bound, Interval, Verdict, estimate, slowest_to_median
from bench.duels.rounds import Duel, Round, p50, p99, rate

CONTESTANTS: Final = (
    "| contestant | requests a second (min to max) | p50 ms | p99 ms | bytes | server µs CPU "
    "| database µs CPU |\n|---|---:|---:|---:|---:|---:|---:|"
)
"""The head of the table of contestants."""


@dataclass(frozen=True, slots=True)
class Line:
    what: str
    bound: Bound
    found: str
    cpu: str
    """Processor time a request of both, in microseconds."""
    others: float
    verdict: Verdict

    def __str__(self) -> str:
        verdict = self.verdict.value if self.bound.is_bar else ""
        return f"| {self.what} | {self.bound} | {self.found} | {self.cpu} | {self.others:.0%} | {verdict} |"


def duel_lines(bars: Sequence[Bar], duel: Duel) -> list[Line]:
    """A line for each of the bars. On a machine that is not quiet no bar is held or missed."""
    cpu = " / ".join(f"{statistics.median(side):.0f}" for side in _cpu_of_both(duel))
    lines = []
    for bar in bars:
        found = estimate(duel.ratios(bar.figure))
        verdict = verdict_on(bar.bound, found.interval, duel.others)
        text = f"{found.median:.2f} ({_written(found.interval)})"
        lines.append(Line(bar.what, bar.bound, text, cpu, duel.others, verdict))
    return lines


def verdict_on(bound: Bound, found: Interval, others: float, *, held_anyway: bool = False) -> Verdict:
    """The verdict about a bar while others used so much of the machine.

    :param held_anyway: more noise can only make the figure worse, so a held bar stays held.
    """
    verdict = bound.verdict(found)
    if others <= QUIET or (held_anyway and verdict is Verdict.HELD):
        return verdict
    return Verdict.UNCLEAR


def _cpu_of_both(duel: Duel) -> tuple[list[float], list[float]]:
    ours = [pair[0].cpu_us for pair in duel.pairs]
    return ours, [pair[1].cpu_us for pair in duel.pairs]


def _written(interval: Interval) -> str:
    return "too few rounds" if interval == ANYWHERE else f"{interval.low:.2f} to {interval.high:.2f}"


def steady_line(rounds: Sequence[Round]) -> Line | None:
    """The slowest round over the median one, of rounds in which the machine was quiet; none without rounds.

    A round is one second, and one second of other work is enough to make it slow.
    """
    ours = [measured for measured in rounds if measured.name == STEADY]
    quiet = [measured for measured in ours if measured.others <= QUIET]
    if not ours:
        return None
    ratio = slowest_to_median([rate(measured) for measured in quiet or ours])
    enough = 2 * len(quiet) > len(ours)
    return Line(
        "status, slowest round / median round",
        STEADY_BOUND,
        f"{ratio:.2f} ({len(quiet)} of {len(ours)} rounds were quiet)",
        "",
        statistics.mean(measured.others for measured in ours),
        STEADY_BOUND.verdict(Interval(ratio, ratio)) if enough else Verdict.UNCLEAR,
    )


def print_bars(lines: Sequence[Line]) -> bool:
    """Print the table of bars, and whether the machine was quiet. Returns whether no bar is missed."""
    print("| ratio | bar | median (95 %) | µs CPU | others | |")
    print("|---|---:|---:|---:|---:|---|")
    for line in lines:
        print(line)
    noisy = [line for line in lines if line.others > QUIET]
    if noisy:
        print(
            f"\nToo noisy to tell: others used up to {max(line.others for line in noisy):.0%} of the cores "
            f"({QUIET:.0%} at most), in {len(noisy)} of {len(lines)} lines. Run it again on a quiet machine."
        )
    else:
        print(f"\nThe machine was quiet: others used less than {QUIET:.0%} of the cores.")
    return all(line.verdict is not Verdict.MISSED for line in lines if line.bound.is_bar)


def print_contestants(rounds: Sequence[Round]) -> None:
    print(f"\n{CONTESTANTS}")
    for name in dict.fromkeys(measured.name for measured in rounds):
        print(contestant_line([measured for measured in rounds if measured.name == name]))


def contestant_line(rounds: Sequence[Round]) -> str:
    """One contestant as a row: rate, p50, p99, bytes, processor time of server and of database."""
    rates = [rate(measured) for measured in rounds]

    def median(figure: Callable[[Round], float]) -> float:
        return statistics.median(figure(measured) for measured in rounds)

    return (
        f"| {rounds[0].name} | {statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f}) "
        f"| {median(p50) / 1000:.2f} | {median(p99) / 1000:.2f} "
        f"| {median(lambda r: r.load.bytes / r.load.requests):.0f} | {median(lambda r: r.server_us):.0f} "
        f"| {median(lambda r: r.database_us):.0f} |"
    )
