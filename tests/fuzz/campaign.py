"""Sends many inputs from several processes, and gathers the answers."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from tests.fuzz.api_inputs import grpc_input, ingest_input, json_input, waiting_input, webhook_input
from tests.fuzz.exchange import Exchange, Wire
from tests.fuzz.faults import SLOW_SECONDS, fault_of, is_unavailable
from tests.fuzz.input import Corpus, Input
from tests.fuzz.operator import Operator
from tests.fuzz.page_inputs import operator_input, public_input, stranger_input
from tests.fuzz.raw_inputs import raw_input

SEED: Final = 1
SHARES: Final = {
    json_input: 400,
    grpc_input: 290,
    raw_input: 120,
    ingest_input: 70,
    public_input: 40,
    webhook_input: 20,
    waiting_input: 20,
    stranger_input: 20,
}
OPERATOR_SHARE: Final = 20
"""Of a thousand inputs."""

CHUNK = 250
SIGNED_IN_SECONDS = 300
"""After this time an operator signs in again: some changes need a sign-in of the last ten minutes."""

SIGNED_OUT_INPUTS = 40
"""Or after this many answers that redirect to the sign-in."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An input with a wrong answer."""

    number: int
    fault: str
    input: Input


@dataclass(slots=True)
class Outcome:
    """Answers to some inputs."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Answers by interface and status; status 0 where no answer came."""

    findings: list[Finding] = field(default_factory=list)
    slow: list[int] = field(default_factory=list)
    """Numbers of inputs whose answer took more than a second."""

    unavailable: Counter[str] = field(default_factory=Counter)

    def add(self, other: Outcome) -> None:
        """Add the answers to other inputs."""
        self.statuses += other.statuses
        self.findings += other.findings
        self.slow += other.slow
        self.unavailable += other.unavailable


def input_of(number: int, corpus: Corpus, operator: Operator) -> Input:
    """The input of this number, the same each time. Only the operator's session may differ."""
    chance = random.Random(f"{SEED}/{number}")
    (make,) = chance.choices([*SHARES, None], [*SHARES.values(), OPERATOR_SHARE])
    if make is None:
        return operator_input(chance, corpus, operator.cookie, operator.token)
    return make(chance, corpus)


class Client:
    """Sends inputs over connections of its own."""

    def __init__(self, host: str, port: int, corpus: Corpus) -> None:
        self._corpus = corpus
        self._wire = Wire(host, port)
        self._operator = Operator(self._wire, corpus)
        self._sign_in_at = 0.0
        self._signed_out = 0

    def send(self, number: int, outcome: Outcome) -> Exchange | None:
        """Send one input, and add its answer to the outcome."""
        self._sign_in_when_due()
        sent = input_of(number, self._corpus, self._operator)
        try:
            found = self._wire.send(sent)
            fault = fault_of(sent, found)
        except OSError as error:
            found, fault = None, f"{type(error).__name__}: {error}"
        if fault is not None:
            outcome.findings.append(Finding(number, fault, sent))
        if found is None:
            outcome.statuses[sent.interface, 0] += 1
            return None
        outcome.statuses[sent.interface, found.answers[0].status if found.answers else 0] += 1
        if found.seconds > SLOW_SECONDS and not found.cut:
            outcome.slow.append(number)
        if is_unavailable(found):
            reason = found.answers[0].header(b"X-Gateway-Reason") or b"page"
            outcome.unavailable[f"{sent.interface}: {reason.decode('latin-1')}"] += 1
        if sent.interface == "operator" and found.answers:
            self._operator.store_cookie(found.answers[0])
            self._signed_out += b"/admin/sign-in" in (found.answers[0].header(b"Location") or b"")
        return found

    def _sign_in_when_due(self) -> None:
        if time.monotonic() >= self._sign_in_at or self._signed_out > SIGNED_OUT_INPUTS:
            self._sign_in_at = time.monotonic() + SIGNED_IN_SECONDS
            self._signed_out = 0
            with suppress(AssertionError, ValueError, OSError):  # then they are the inputs of a stranger
                self._operator.sign_in()

    def still_slow(self, numbers: list[int], tries: int = 3) -> list[int]:
        """Those of the inputs that are slow each time, while nothing else is sent."""

        def fastest(number: int) -> float:
            found = [self.send(number, Outcome()) for _ in range(tries)]
            return min((each.seconds for each in found if each), default=0.0)

        return [number for number in numbers if fastest(number) > SLOW_SECONDS]

    def close(self) -> None:
        self._wire.close()


_CLIENTS: dict[int, Client] = {}
"""Of this process, by the port of the server."""


def _send_chunk(host: str, port: int, corpus: Corpus, numbers: range) -> Outcome:
    client = _CLIENTS.get(port)
    if client is None:
        client = _CLIENTS.setdefault(port, Client(host, port, corpus))
    outcome = Outcome()
    for number in numbers:
        client.send(number, outcome)
    return outcome


def send_all(host: str, port: int, corpus: Corpus, numbers: range, processes: int) -> Outcome:
    """Send the inputs of these numbers from several processes, a few from this one: it has all imported."""
    whole = Outcome()
    if len(numbers) <= CHUNK:
        client = Client(host, port, corpus)
        for number in numbers:
            client.send(number, whole)
        client.close()
        return whole
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        running = set()
        for start in range(numbers.start, numbers.stop, CHUNK):
            chunk = range(start, min(start + CHUNK, numbers.stop))
            running.add(pool.submit(_send_chunk, host, port, corpus, chunk))
            if len(running) > 2 * processes:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for each in done:
                    whole.add(each.result())
        for each in running:
            whole.add(each.result())
    return whole
