"""Two processes on one database that cache facts, and what the facts are after each write."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from flask import Flask

from app.db.database import CachedReads, Database
from app.db.writes import writes_of
from app.estimates.queries import EstimateFacts
from app.estimates.services import cached_facts
from app.http.application import part_of
from app.network.rules.pools import PoolCounters, PoolState
from app.values.identifiers import ChainId, RouteKey
from app.values.times import Epoch
from tests.applications import change_part
from tests.feed.services.world import NOW, event, feed, sent
from tests.timer import Timer

START = NOW + timedelta(seconds=59)
"""Soon after it an epoch ends, whatever its length."""

ROUTE = RouteKey("USDT", ChainId(1), ChainId(2))


@dataclass
class Facts:
    """What the feed has reported by a moment: one number for each batch, in every part of the facts."""

    since: float
    by: int | None = None
    """The process that wrote them."""
    batches: int = 0
    sent: int = 0
    volumes: Counter[int] = field(default_factory=Counter)
    """By the start of the epoch."""

    def matches(self, found: EstimateFacts, epoch: Epoch) -> bool:
        fee = None if found.reported_fee is None else found.reported_fee[0]
        return (found.src, found.dst, found.epoch_volume, fee) == (
            PoolCounters(sent=self.sent),
            PoolCounters(added=sum(range(self.batches + 1))),
            self.volumes[epoch.start],
            self.batches or None,
        )


class TwoProcesses:
    """Their clocks are one, which the test moves; each has its own engines and its own memory."""

    def __init__(self, apps: tuple[Flask, Flask], max_age: float, epoch_seconds: int = 60) -> None:
        self.timer = Timer()
        self.began = self.timer.now
        self.max_age = max_age
        self.src = PoolState(epoch_cap=1, epoch_seconds=epoch_seconds)
        self.processes = apps
        for app in apps:
            change_part(app, Database, clock=self.clock, cached=self._memory(app))
        self.known = [Facts(self.timer.now)]

    def _memory(self, app: Flask) -> CachedReads:
        return CachedReads(self.max_age, writes_of(part_of(app, Database).engine), self.timer)

    def clock(self) -> Any:
        return START + timedelta(seconds=self.timer.now - self.began)

    def _epoch(self) -> Epoch:
        assert self.src.epoch_seconds
        return Epoch.at(self.clock(), self.src.epoch_seconds)

    def wait(self, seconds: float) -> None:
        self.timer.now += seconds

    def write(self, process: int, amount: int) -> None:
        """A batch that moves every part of the facts: a send, liquidity on the other side, and a fee."""
        last, now = self.known[-1], self.timer.now
        number, at = last.batches + 1, (self.clock() - NOW).total_seconds()
        result = feed(
            self.processes[process],
            sent(number, at=at, amount=str(amount)),
            event("liquidity.added", at=at, chain_id=2, symbol="USDT", amount=str(number), tx_hash="0x01"),
            event(
                "fee.updated", at=at - 1 + number / 1e3,  # what is ahead of the clock does not count yet
                symbol="USDT", src_chain_id=1, dst_chain_id=2, base_fee=str(number),
            ),
        )  # fmt: skip
        assert (result.accepted, result.refused) == (3, [])
        epoch = self._epoch()
        volumes = last.volumes + Counter({epoch.start: amount})
        self.known.append(Facts(now, process, number, last.sent + amount, volumes))

    def read(self, process: int) -> float:
        """Read the facts, and validate them; returns their age."""
        now, epoch = self.timer.now, self._epoch()
        found, age = cached_facts(part_of(self.processes[process], Database), ROUTE, self.src, self.clock())
        assert 0 <= age < self.max_age
        right = [facts for facts in self.known if facts.matches(found, epoch)]
        assert right, (found, self.known, epoch)
        # Facts hold until the next ones: those must be newer than the age, and not this process's own.
        (index,) = (self.known.index(facts) for facts in right)
        for later in self.known[index + 1 :]:
            assert later.since > now - self.max_age, "older than allowed"
            assert later.by != process, "not what this process wrote"
        return age
