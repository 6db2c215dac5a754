"""A contestant in one round, and two of them in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.contenders import Contender
from bench.duels.noise import cores, read_clocks, share_of_others
from tests.load.served import Served, cpu_seconds
from tests.load.wrk import Load, press


@dataclass(frozen=True, slots=True)
class Round:
    """One contestant in one round; processor time a request, in microseconds."""

    name: str
    load: Load
    server_us: float
    database_us: float
    others: float
    """The share of all cores that others used meanwhile."""

    @property
    def cpu_us(self) -> float:
        """Of server and database together, a request."""
        return self.server_us + self.database_us


def rate(measured: Round) -> float:
    """Answers a second."""
    return measured.load.per_second


def p50(measured: Round) -> float:
    """The median time of an answer, in microseconds."""
    return measured.load.p50_us


def p99(measured: Round) -> float:
    """The time within which 99 of 100 requests were answered, in microseconds."""
    return measured.load.p99_us


@dataclass(frozen=True, slots=True)
class Duel:
    """Pairs of rounds, measured directly after each other."""

    pairs: Sequence[tuple[Round, Round]]

    def ratios(self, figure: Callable[[Round], float]) -> list[float]:
        """Of each pair, the first contestant's figure over the second's."""
        return [figure(ours) / figure(theirs) for ours, theirs in self.pairs]

    @property
    def rounds(self) -> list[Round]:
        return [measured for pair in self.pairs for measured in pair]

    @property
    def others(self) -> float:
        """The share of all cores that others used, on average: all rounds are equally long."""
        rounds = self.rounds
        return sum(measured.others for measured in rounds) / len(rounds)


def duel(ours: Callable[[], Round], theirs: Callable[[], Round], pairs: int) -> Duel:
    """So many pairs, after one that warms up and is not counted.

    The first of each pair alternates, so that a drift favours none. No round is in two pairs, so that the
    ratios are independent of each other.
    """
    made: list[tuple[Round, Round]] = []
    for number in range(pairs + 1):
        if number % 2:
            second, first = theirs(), ours()
        else:
            first, second = ours(), theirs()
        made.append((first, second))
    return Duel(made[1:])


def measure(
    contender: Contender,
    served: Served,
    database: psutil.Process,
    requests: Path,
    *,
    connections: int,
    seconds: float,
    pause_ms: int = 0,
) -> Round:
    """One contestant in one round.

    :param database: the parent process of all that serve PostgreSQL.
    :param requests: its requests, as a file for wrk.
    :param pause_ms: how long a connection waits before the next request, in milliseconds.
    :raises SystemExit: a request failed, or none was answered.
    """
    ours, before = [served.process], read_clocks([database])
    server, postgres = cpu_seconds(ours), cpu_seconds([database])
    load = press(served.port, requests, connections=connections, seconds=seconds, pause_ms=pause_ms)
    server, postgres = cpu_seconds(ours) - server, cpu_seconds([database]) - postgres
    others = share_of_others(before, read_clocks([database]), cores())
    if not load.requests:
        raise SystemExit(f"{contender.name}: nothing was answered in {seconds:g} s")
    if load.failures:
        raise SystemExit(f"{contender.name}: {load.failures} of {load.requests} requests failed")
    return Round(
        contender.name,
        load,
        server_us=server / load.requests * 1e6,
        database_us=postgres / load.requests * 1e6,
        others=others,
    )
