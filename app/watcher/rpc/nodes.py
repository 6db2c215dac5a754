"""The nodes of one chain in the order of preference, and which of them can be asked now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from msgspec import Struct

from app.watcher.rpc.faults import Lie, Moved, NoNode, NotThere, RateLimited, RpcFault, TooLarge
from app.watcher.rpc.node import Node

T = TypeVar("T")

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds that a node which failed is left alone: twice as long each time."""

LAGGING_PAUSE: Final = 2.0
EXCLUDED_SECONDS: Final = 60.0
LONGEST_EXCLUSION: Final = 1800.0
"""Seconds that a node which lied is not asked. After them it is examined anew."""

MOST_MOVES: Final = 8
"""Answers in a row that do not fit together. A chain that is reorganised gives one or two."""


class Health(Struct):
    """How a node has done so far. Times are seconds of the monotonic clock."""

    fails: int = 0
    lies: int = 0
    moves: int = 0
    until: float = 0.0
    excluded: str | None = None
    """Why it is not believed."""
    fault: str | None = None
    """What went wrong last."""


class Trouble(Struct, frozen=True):
    """Something that went wrong with a URL."""

    source: str
    words: str


class Nodes:
    """Asks the first node that can be asked, and the next one where that fails.

    :param monotonic: seconds that only grow.
    :param note: is told of everything that goes wrong.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        monotonic: Callable[[], float],
        note: Callable[[Trouble], None] = lambda _trouble: None,
    ) -> None:
        self._nodes = {node.name: node for node in nodes}
        self.health = {node.name: Health() for node in nodes}
        self._monotonic = monotonic
        self._note = note

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all of them, the preferred one first."""
        return tuple(self._nodes)

    def named(self, name: str) -> Node | None:
        """The one of this name; None where its URL is not set."""
        return self._nodes.get(name)

    @property
    def requests(self) -> int:
        """HTTP requests sent so far."""
        return sum(node.client.requests for node in self._nodes.values())

    def usable(self) -> list[Node]:
        """Those that can be asked now, the preferred one first."""
        now = self._monotonic()
        return [node for node in self._nodes.values() if self.health[node.name].until <= now]

    def request(self, question: Callable[[Node], T], *, rather_not: str | None = None) -> tuple[T, Node]:
        """The answer of the first node that gives one, and that node.

        :param question: may ask the node several times; begun anew with the next one where it fails.
        :param rather_not: the name of one that is asked only when no other answers.
        :raises NoNode: none of them answers now.
        :raises TooLarge: as the node that was asked.
        :raises Moved: as the node that was asked; it will be asked again.
        """
        nodes = sorted(self.usable(), key=lambda node: node.name == rather_not)
        for node in nodes:
            try:
                answer = question(node)
            except TooLarge:
                raise
            except Moved as fault:
                self._moved(node, fault)
                raise
            except RpcFault as fault:
                self.failed(node, fault)
            else:
                self.health[node.name] = Health()
                return answer, node
        raise self._nobody()

    def failed(self, node: Node, fault: RpcFault) -> None:
        """Leave a node alone for a while, by what it did."""
        health, now = self.health[node.name], self._monotonic()
        health.fault = str(fault)
        if isinstance(fault, Lie):
            health.excluded = str(fault)
            health.until = now + min(EXCLUDED_SECONDS * 2**health.lies, LONGEST_EXCLUSION)
            health.lies = min(health.lies + 1, 16)
        elif isinstance(fault, NotThere):
            health.until = now + LAGGING_PAUSE
        else:
            pause = min(FIRST_PAUSE * 2**health.fails, LONGEST_PAUSE)
            if isinstance(fault, RateLimited) and fault.seconds is not None:
                pause = max(pause, fault.seconds)
            health.fails = min(health.fails + 1, 16)
            health.until = now + pause
        node.checked = False
        self._note(Trouble(node.name, str(fault)))

    def note(self, trouble: Trouble) -> None:
        """Tell of something that went wrong and costs the URL nothing."""
        self._note(trouble)

    def close(self) -> None:
        """Close every connection."""
        for node in self._nodes.values():
            node.client.close()

    def _moved(self, node: Node, fault: Moved) -> None:
        health = self.health[node.name]
        health.moves += 1
        if health.moves >= MOST_MOVES:
            health.moves = 0
            self.failed(node, Lie(f"{fault}, {MOST_MOVES} times in a row"))

    def _nobody(self) -> NoNode:
        if not self._nodes:
            return NoNode("no URL is set", LONGEST_PAUSE)
        now = self._monotonic()
        wait = max(min(health.until for health in self.health.values()) - now, 0.05)
        told = "; ".join(f"{name}: {health.fault or 'fails'}" for name, health in self.health.items())
        if all(health.excluded for health in self.health.values()):
            return NoNode(f"all URLs are excluded, and nothing is read: {told}", wait)
        return NoNode(f"no URL responds: {told}", wait)
