"""Twenty clients at once, of every interface, on few connections to the server."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Thread

from flask import Flask

from app.accounts.rules.roles import Role
from app.db.database import Database
from app.http.application import part_of
from app.values.identifiers import ChainId
from app.watcher.services.lease import Lease, LeaseLost, renew, take
from tests.console.visitor import Visitor, email_of
from tests.faults.reporters import Events
from tests.faults.story import shares
from tests.feed.views.kit import post

REPORTERS, READERS, VISITORS, WATCHERS = 6, 8, 3, 3
PAUSE_SECONDS = 0.03
"""Of those that go on until all is reported: they take the processor from those that report."""

_ESTIMATE = (
    "/v2/estimateAmt?src_chain_id=1&dst_chain_id=2&token_symbol=USDT&amt=1000000&slippage_tolerance=3000"
)
_LATENCY = "/v2/getLatest7DayTransferLatencyForQuery?src_chain_id=1&dst_chain_id=2"
_PAGES = ("/admin/", "/admin/transfers/", "/admin/anomalies/", "/admin/chains/", "/admin/audit/")


@dataclass
class Seen:
    """What the clients were answered."""

    answers: Counter[str] = field(default_factory=Counter)
    """How often each kind of client had each status, such as ``status 200``."""
    taken: Counter[str] = field(default_factory=Counter)
    leases: list[Lease] = field(default_factory=list)
    faults: list[BaseException] = field(default_factory=list)

    @property
    def bad(self) -> dict[str, int]:
        """The answers that were not 200; but the public is also refused what the facts do not allow."""
        return {name: n for name, n in self.answers.items() if name != "public 400" and name[-3:] != "200"}


def interleave(app: Flask, reported: Events) -> Seen:
    """Report the events through six clients while the others read, until all are reported."""
    seen, done = Seen(), Event()
    names = [event["transfer_id"] for event in reported if "transfer_id" in event]
    portions = shares(reported, REPORTERS, random.Random(1))

    def until_done(once: Callable[[int], None]) -> Callable[[], None]:
        def go_on() -> None:
            number = 0
            while not done.wait(PAUSE_SECONDS):
                once(number)
                number += 1

        return go_on

    reporters = [_noting(seen, _report(app, seen, share)) for share in portions]
    others = [until_done(_read(app, seen, names, chance)) for chance in range(READERS)]
    others += [until_done(_visit(app, seen)) for _ in range(VISITORS)]
    others += [until_done(_hold(app, seen, f"watcher {number}")) for number in range(WATCHERS)]
    first = [Thread(target=work) for work in reporters]
    second = [Thread(target=_noting(seen, work)) for work in others]
    for thread in (*first, *second):
        thread.start()
    for thread in first:
        thread.join()
    done.set()
    for thread in second:
        thread.join()
    return seen


def _noting(seen: Seen, work: Callable[[], None]) -> Callable[[], None]:
    def guarded() -> None:
        try:
            work()
        except Exception as error:  # of the watchers, which have no interface between them and the database
            seen.faults.append(error)

    return guarded


def _report(app: Flask, seen: Seen, portions: list[Events]) -> Callable[[], None]:
    def report() -> None:
        client = app.test_client()
        for portion in portions:
            response = post(client, portion)
            seen.answers[f"feed {response.status_code}"] += 1
            if response.status_code == 200:
                verdict = response.get_json()
                seen.taken["accepted"] += verdict["accepted"]
                seen.taken["refused"] += len(verdict["refused"])

    return report


def _read(app: Flask, seen: Seen, names: list[str], number: int) -> Callable[[int], None]:
    client, chance = app.test_client(), random.Random(number)

    def read(turn: int) -> None:
        match turn % 3:
            case 0:
                json = {"transfer_id": chance.choice(names)}
                response = client.post("/v2/getTransferStatus", json=json)
            case 1:
                response = client.get(_ESTIMATE)
            case _:
                response = client.get(_LATENCY)
        seen.answers[f"public {response.status_code}"] += 1

    return read


def _visit(app: Flask, seen: Seen) -> Callable[[int], None]:
    visitor = Visitor(app)
    signed_in: list[bool] = []

    def visit(turn: int) -> None:
        if not signed_in:  # which may have to be tried again: it writes, and reporters hold the lock
            if visitor.sign_in(email_of(Role.ADMIN)).status_code == 302:
                signed_in.append(True)
            return
        response = visitor.get(_PAGES[turn % len(_PAGES)])
        seen.answers[f"console {response.status_code}"] += 1

    return visit


def _hold(app: Flask, seen: Seen, owner: str) -> Callable[[int], None]:
    database = part_of(app, Database)
    chain = ChainId(3)
    held: list[Lease] = []

    def hold(turn: int) -> None:
        try:
            if held:
                renew(database, held[0], 3600)
            elif lease := take(database, chain, owner, 3600):
                held.append(lease)
                seen.leases.append(lease)
        except LeaseLost as lost:
            seen.faults.append(lost)
            raise
        seen.answers["watcher 200"] += 1

    return hold
