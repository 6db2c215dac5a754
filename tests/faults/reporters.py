"""Reporters that never give up, and kills of the workers that they post to, and of the database."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from threading import Event, Thread
from typing import Any

import psutil

from tests.feed.views.kit import EVENTS, NDJSON, bearer, ndjson
from tests.replicas.cluster import Node
from tests.serving.server import Server

Events = list[dict[str, Any]]

TIMEOUT = 600
"""Seconds without an answer after which a reporter believes that the gateway will never answer again."""

SECONDS = 60.0
"""For one answer, on a machine that does other things."""

DATABASE = 0.1
"""The part of the kills that is the database's, where it may be killed."""


@dataclass(slots=True)
class Reporter:
    """Posts its portions over one connection, each until it was answered; remembers the answers."""

    server: Server
    token: str
    portions: list[Events]
    accepted: int = 0
    repeated: int = 0
    acknowledged: list[str] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        """Post everything."""
        connection: HTTPConnection | None = None
        for portion in self.portions:
            deadline = time.monotonic() + TIMEOUT
            while True:
                assert time.monotonic() < deadline, "the gateway answers no more"
                connection = connection or self.server.connect(SECONDS)
                try:
                    verdict = self._post(connection, portion)
                except (HTTPException, OSError) as error:
                    self.failures[f"{type(error).__name__} {error}"] += 1
                    connection.close()
                    connection = None
                    time.sleep(0.05)
                else:
                    self._note(portion, verdict)
                    break
        if connection is not None:
            connection.close()

    def _post(self, connection: HTTPConnection, portion: Events) -> dict[str, Any]:
        connection.request("POST", EVENTS, ndjson(*portion), {"Content-Type": NDJSON} | bearer(self.token))
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
        if response.status != 200:
            raise HTTPException(response.status)
        return answer

    def _note(self, portion: Events, verdict: dict[str, Any]) -> None:
        assert verdict["accepted"] + verdict["repeated"] + len(verdict["refused"]) == len(portion)
        self.accepted += verdict["accepted"]
        self.repeated += verdict["repeated"]
        self.refused += verdict["refused"]
        lost = {line["id"] for line in verdict["refused"]}
        self.acknowledged += [event["id"] for event in portion if event["id"] not in lost]


@dataclass(slots=True)
class Killer:
    """Kills a worker of this server every now and then, or its database, where it has one of its own."""

    server: Server
    random: random.Random
    pause: tuple[float, float]
    database: Node | None = None
    killed: Counter[str] = field(default_factory=Counter)
    stopped: Event = field(default_factory=Event)

    def run(self) -> None:
        """Until stopped."""
        master = psutil.Process(self.server.process.pid)
        while not self.stopped.wait(self.random.uniform(*self.pause)):
            if self.database is not None and self.random.random() < DATABASE:
                self.database.kill()
                self.database.start()
                self.killed["databases"] += 1
            elif workers := master.children():
                with suppress(psutil.NoSuchProcess):  # it ended in this moment
                    self.random.choice(workers).kill()
                    self.killed["workers"] += 1


def report_while_killing(reporters: list[Reporter], killer: Killer) -> float:
    """Let all of them report at once, and the killer go about; how many seconds it took."""
    started = time.monotonic()
    threads = [Thread(target=reporter.run) for reporter in reporters]
    assassin = Thread(target=killer.run)
    for thread in (*threads, assassin):
        thread.start()
    for thread in threads:
        thread.join()
    killer.stopped.set()
    assassin.join()
    return time.monotonic() - started
