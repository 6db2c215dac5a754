"""Sends many inputs from several processes, and gathers what came of them."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field

from tests.fuzz.exchange import Exchange, Wire
from tests.fuzz.inputs import question
from tests.fuzz.judging import is_slow, is_unavailable, wrong
from tests.fuzz.operator import Operator
from tests.fuzz.questions import Question, World

CHUNK = 250
SIGNED_IN_SECONDS = 300
"""After so long an operator signs in anew: some changes need a sign-in of the last ten minutes."""

SIGNED_OUT_INPUTS = 40
"""Or after so many answers that lead to the sign-in."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An input whose answer must not be."""

    number: int
    what: str
    question: Question


@dataclass(slots=True)
class Outcome:
    """What came of some inputs."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Answers by door and status; status 0 where none came."""

    findings: list[Finding] = field(default_factory=list)
    slow: list[tuple[int, float]] = field(default_factory=list)
    unavailable: Counter[str] = field(default_factory=Counter)

    def add(self, other: Outcome) -> None:
        """Take in what came of others."""
        self.statuses += other.statuses
        self.findings += other.findings
        self.slow += other.slow
        self.unavailable += other.unavailable

    @property
    def inputs(self) -> int:
        """How many were sent and answered, or were not to be answered."""
        return sum(self.statuses.values())


class Client:
    """Sends inputs over connections of its own."""

    def __init__(self, host: str, port: int, seed: int, world: World) -> None:
        self._seed, self._world = seed, world
        self._wire = Wire(host, port)
        self._operator = Operator(self._wire, world)
        self._sign_in_at = 0.0
        self._signed_out = 0

    def send(self, number: int, outcome: Outcome) -> Exchange | None:
        """One input; notes what is wrong."""
        self._sign_in_when_due()
        asked = question(self._seed, number, self._world, self._operator.cookie, self._operator.token)
        try:
            found = self._wire.ask(asked)
            fault = wrong(asked, found)
        except OSError as error:
            found, fault = None, f"{type(error).__name__}: {error}"
        if fault is not None:
            outcome.findings.append(Finding(number, fault, asked))
        if found is None:
            outcome.statuses[asked.door, 0] += 1
            return None
        outcome.statuses[asked.door, found.answers[0].status if found.answers else 0] += 1
        if is_slow(found) and not found.cut:
            outcome.slow.append((number, found.seconds))
        if is_unavailable(found):
            reason = found.answers[0].header(b"X-Gateway-Reason") or b"page"
            outcome.unavailable[f"{asked.door}: {reason.decode('latin-1')}"] += 1
        if asked.door == "operator" and found.answers:
            self._operator.keep(found.answers[0])
            self._signed_out += b"/admin/sign-in" in (found.answers[0].header(b"Location") or b"")
        return found

    def _sign_in_when_due(self) -> None:
        if time.monotonic() >= self._sign_in_at or self._signed_out > SIGNED_OUT_INPUTS:
            self._sign_in_at = time.monotonic() + SIGNED_IN_SECONDS
            self._signed_out = 0
            with suppress(AssertionError, ValueError, OSError):  # then they are the inputs of somebody else
                self._operator.sign_in()

    def close(self) -> None:
        """Leave."""
        self._wire.close()


_CLIENTS: dict[int, Client] = {}
"""Of this process, by the port of the server."""


def _send_some(host: str, port: int, seed: int, world: World, first: int, count: int) -> Outcome:
    client = _CLIENTS.get(port)
    if client is None:
        client = _CLIENTS.setdefault(port, Client(host, port, seed, world))
    outcome = Outcome()
    for number in range(first, first + count):
        client.send(number, outcome)
    return outcome


def send_all(
    host: str,
    port: int,
    seed: int,
    world: World,
    numbers: range,
    processes: int,
    progress: Callable[[Outcome], object] = lambda _outcome: None,
) -> Outcome:
    """Send the inputs of these numbers from so many processes.

    :param progress: is told what came so far, after each few hundred.
    """
    whole = Outcome()
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        chunks = _chunks(numbers)
        running = set()
        while True:
            for first, count in chunks:
                running.add(pool.submit(_send_some, host, port, seed, world, first, count))
                if len(running) > 2 * processes:
                    break
            if not running:
                return whole
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                whole.add(each.result())
            progress(whole)


def _chunks(numbers: range) -> Iterator[tuple[int, int]]:
    for first in range(numbers.start, numbers.stop, CHUNK):
        yield first, min(CHUNK, numbers.stop - first)


def still_slow(client: Client, slow: list[tuple[int, float]], tries: int = 3) -> list[tuple[int, float]]:
    """Those that are slow again and again when nothing else is asked: their number, and the least time."""
    found = []
    for number, _ in slow:
        times = [each.seconds for _ in range(tries) if (each := client.send(number, Outcome()))]
        if times and min(times) > 1.0:
            found.append((number, min(times)))
    return found
