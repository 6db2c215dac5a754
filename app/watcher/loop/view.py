"""One chain as its reader has it in memory, between two steps.

Nodes bound a range by blocks, by logs, by bytes or by time, differently and without saying so before. What a
node refused is not tried again at once: growing stops below it and goes on after many good answers, because a
range full of logs may have been the reason, and it lies behind by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from app.network.watch_terms import WatchedNetwork, WatchTerms
from app.values.identifiers import BlockNumber
from app.values.times import parse_rfc3339, rfc3339
from app.watcher.blocks import Header
from app.watcher.logs.contracts import TOPICS
from app.watcher.loop.plan import headers_needed_from
from app.watcher.rpc.node import Look, Wanted
from app.watcher.rpc.nodes import Nodes
from app.watcher.steps import ChainReadings, SpanState, Step, Waiting, replaced

FAST_SECONDS: Final = 2.0
"""An answer under this lets the window grow."""

SLOW_SECONDS: Final = 8.0
"""An answer over this makes it smaller: the next range may have more logs, and deadlines cut answers off."""

MANY_LOGS: Final = 8_000
"""Logs in one answer at which growing stops: most nodes refuse more than 10,000."""

FORGIVEN_AFTER: Final = 64
"""Good answers at the largest size after which a larger one is tried again."""

LARGEST: Final = 100_000


class Window(Struct, frozen=True):
    """The size of the next range in blocks, and what was learned.

    :param ceiling: what is not exceeded for now.
    :param good: answers in a row at the ceiling.
    """

    size: int = 256
    ceiling: int = LARGEST
    good: int = 0

    def answered(self, asked: int, seconds: float, logs: int) -> Window:
        """After an answer to a range of ``asked`` blocks that took so long and had so many logs.

        A shorter range than the window, at the head of the chain, says nothing about a full one.
        """
        if seconds > SLOW_SECONDS or logs > 2 * MANY_LOGS:
            return replace(self, size=max(1, min(self.size, asked) // 2), good=0)
        if asked < self.size or seconds >= FAST_SECONDS or logs > MANY_LOGS:
            return self
        if self.size < self.ceiling:
            return replace(self, size=min(self.size * 2, self.ceiling), good=0)
        if self.good + 1 < FORGIVEN_AFTER:
            return replace(self, good=self.good + 1)
        return replace(self, ceiling=min(self.ceiling * 2, LARGEST), good=0)

    def refused(self, asked: int, most: int | None = None) -> Window:
        """After a node refused a range of ``asked`` blocks as too large.

        :param most: blocks that the node says it takes.
        """
        half = max(1, asked // 2)
        if most is None or most >= asked:
            # What it names is no more than what it refused: then it is not blocks that were too many.
            return replace(self, size=half, ceiling=max(half, min(self.ceiling, asked - 1)), good=0)
        return replace(self, size=max(1, most), ceiling=max(1, most), good=0)

    @property
    def stuck(self) -> bool:
        """Whether it cannot become smaller: a node that refuses a single block cannot be read from."""
        return self.size == 1


def after(readings: ChainReadings, step: Step) -> ChainReadings:
    """All that is kept of a chain after a step was written, except how far it is reread and proven."""
    if step.forget_from is not None:
        readings = _stepped_back(readings, step.forget_from)
    changes = {
        name: given
        for name in ("live_from", "backfill_from", "backfilled_to", "live_to", "extra")
        if (given := getattr(step, name)) is not None
    }
    return replace(
        readings,
        headers=_headers(readings.headers, step),
        spans=[span for span in replaced(readings.spans, step.spans) if span.state is not SpanState.PROVEN],
        waiting=_waiting(readings.waiting, step),
        **changes,
    )


def _stepped_back(readings: ChainReadings, forget_from: BlockNumber) -> ChainReadings:
    below = BlockNumber(forget_from - 1)
    live_to, live_from, backfilled_to = readings.live_to, readings.live_from, readings.backfilled_to
    headers = [header for header in readings.headers if header.number < forget_from]
    if live_to is not None and live_to.number >= forget_from:
        live_to = next((header.id for header in headers if header.number == below), None)
    if live_from is not None and live_from > forget_from:
        live_from = forget_from
    if backfilled_to is not None and backfilled_to >= forget_from:
        backfilled_to = below
    return replace(
        readings,
        live_to=live_to,
        live_from=live_from,
        backfilled_to=backfilled_to,
        headers=headers,
        spans=replaced(readings.spans, (), forget_from=forget_from),
        waiting=[waiting for waiting in readings.waiting if waiting.block < forget_from],
    )


def _headers(kept: Iterable[Header], step: Step) -> list[Header]:
    found = {header.number: header for header in (*kept, *step.headers)}
    least = step.forget_headers_below or 0
    return [found[number] for number in sorted(found) if number >= least]


def _waiting(kept: Iterable[Waiting], step: Step) -> list[Waiting]:
    found = {(waiting.kind, waiting.key): waiting for waiting in kept}
    for done in step.done:
        found.pop((done.kind, done.key), None)
    found.update({(waiting.kind, waiting.key): waiting for waiting in step.waiting})
    return sorted(found.values(), key=lambda waiting: (waiting.block, waiting.kind, waiting.key))


class TooDeep(Exception):
    """A reorganisation that is deeper than is believed. An operator has to look at it."""


class Jump(Struct, frozen=True):
    """A head far above what was read, which no second URL had.

    :param head: the head, ``teller`` the name of the URL that told it.
    :param above: the block that reading was at.
    :param since: seconds of the monotonic clock.
    """

    head: Header
    teller: str
    above: BlockNumber
    since: float

    def facts(self) -> dict[str, Any]:
        """The jump as JSON values, without ``since``."""
        head = self.head
        told = {
            "number": head.number,
            "hash": head.hash,
            "parent_hash": head.parent_hash,
            "at": rfc3339(head.at),
        }
        return {"head": told, "teller": self.teller, "above": self.above}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], since: float) -> Jump:
        """The jump that these facts were made of."""
        head = Header(**facts["head"] | {"at": parse_rfc3339(facts["head"]["at"])})
        return cls(head, facts["teller"], facts["above"], since)


class View(Struct):
    """What a reader of a chain knows.

    :param readings: what is kept, as it is in the database.
    :param monotonic: seconds that only grow, to measure by.
    :param max_reorg: blocks below the newest one that a reorganisation may reach.
    :param window: how many blocks are asked for at once.
    :param look: what a node told of the newest blocks at the last poll.
    :param source: the name of the URL that was asked last.
    :param final: the newest final block, never one below that of before.
    :param seen_at: when a URL had the last block read.
    :param jump: the one that no second URL has confirmed yet.
    """

    terms: WatchTerms
    network: WatchedNetwork
    nodes: Nodes
    readings: ChainReadings
    clock: Callable[[], datetime]
    monotonic: Callable[[], float]
    max_reorg: int
    window: Window = field(default_factory=Window)
    look: Look | None = None
    final: BlockNumber | None = None
    seen_at: float | None = None
    jump: Jump | None = None
    source: str = ""
    counted: int = 0

    def __post_init__(self) -> None:
        if kept := self.readings.extra.get("jump"):
            self.jump = Jump.from_facts(kept, self.monotonic())

    @property
    def extra(self) -> Mapping[str, Any] | None:
        """What else is to be kept; None where it is."""
        extra = {} if self.jump is None else {"jump": self.jump.facts()}
        return None if extra == self.readings.extra else extra

    @property
    def wanted(self) -> Wanted:
        """Which logs are read."""
        return Wanted(tuple(sorted(self.terms.contracts)), tuple(TOPICS))

    @property
    def deep(self) -> BlockNumber | None:
        """The highest block that no reorganisation is believed to replace."""
        live_to = self.readings.live_to
        if live_to is None or live_to.number <= self.max_reorg:
            return None
        return BlockNumber(live_to.number - self.max_reorg - 1)

    @property
    def settled_to(self) -> BlockNumber | None:
        """The highest block whose facts nothing takes back any more: neither a reorganisation nor a proof."""
        unproven = self.readings.spans[0].first if self.readings.spans else None
        deep = self.deep
        return deep if deep is None or unproven is None else BlockNumber(min(deep, unproven - 1))

    @property
    def lag(self) -> int:
        """Blocks between the newest one and the last that live reading has read."""
        if self.look is None or self.readings.live_to is None:
            return 0
        return max(0, self.look.head.number - self.readings.live_to.number)

    @property
    def teller(self) -> str:
        """The name of the URL that told the last block read."""
        kept = self.readings.live_to
        told = (span for span in self.readings.spans if kept is not None and span.last == kept.number)
        return next((span.source for span in told), self.source)

    def calls(self) -> int:
        """HTTP requests since this was asked last."""
        now = self.nodes.requests
        made, self.counted = now - self.counted, now
        return made

    def taken(self, step: Step) -> None:
        """A step was written."""
        self.readings = after(self.readings, step)

    def forgettable(self, live_to: BlockNumber) -> BlockNumber | None:
        """Headers below this block are not needed any more."""
        sure = live_to if self.jump is None else BlockNumber(min(live_to, self.jump.above))
        return headers_needed_from(self.readings.headers, sure, self.max_reorg)


MAX_TRIES: Final = 3
"""At reading a range while the chain changes under it, before the next poll has to see."""
