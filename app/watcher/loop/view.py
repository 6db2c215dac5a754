"""One chain as its reader has it in memory, between two steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from app.domain.keys import BlockNumber
from app.domain.times import parse_rfc3339, rfc3339
from app.domain.watching.blocks import Header
from app.domain.watching.network import WatchedNetwork
from app.domain.watching.steps import ChainReadings, Step
from app.domain.watching.terms import WatchTerms
from app.watcher.decode.events import TOPICS
from app.watcher.loop.plan import headers_needed_from
from app.watcher.loop.readings import after
from app.watcher.rpc.node import Look, Wanted
from app.watcher.rpc.nodes import Nodes
from app.watcher.window import Window


class TooDeep(Exception):
    """A reorganisation that is deeper than is believed. An operator has to look at it."""


@dataclass(frozen=True, slots=True)
class Jump:
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


@dataclass(slots=True)
class View:
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
