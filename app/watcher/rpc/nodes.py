"""The nodes of one chain in the order of preference, and which of them can be used now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from app.network.rules.watch_terms import WatchTerms
from app.watcher.rpc.client import Client
from app.watcher.rpc.faults import (
    FaultyAnswer,
    Forbidden,
    Moved,
    NoNode,
    NotOffered,
    NotThere,
    RateLimited,
    RpcFault,
)
from app.watcher.rpc.node import Node
from app.watcher.rules.voices import voices_of

T = TypeVar("T")

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds that a node is not used after it failed. They double each time up to this, and are this at once
where only a person can help.
"""

LAGGING_PAUSE: Final = 2.0
EXCLUDED_SECONDS: Final = 60.0
LONGEST_EXCLUSION: Final = 1800.0
"""Seconds that a node is not used after a false answer. Then it is checked again."""

MOST_REQUESTS: Final = 16
"""Of one URL about a range that another one answers at once."""

MOST_MOVES: Final = 8
"""Answers in a row that do not fit together. A reorganisation of the chain gives one or two."""


class Health(Struct):
    """The state of a node. Times are seconds of the monotonic clock.

    :param excluded: why its answers are not accepted.
    :param fault: what went wrong last.
    """

    fails: int = 0
    faulty: int = 0
    moves: int = 0
    until: float = 0.0
    excluded: str | None = None
    fault: str | None = None


class Trouble(Struct, frozen=True):
    """Something that went wrong with a URL.

    :param is_false: it returned what cannot be true.
    """

    source: str
    words: str
    is_false: bool = False


class Nodes:
    """Sends requests to the first node that can be used, and to the next one where that fails.

    :param monotonic: seconds that never go back.
    :param note: called with everything that goes wrong.
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
        """The names of the nodes, the preferred one first."""
        return tuple(self._nodes)

    def named(self, name: str) -> Node | None:
        return self._nodes.get(name)

    @property
    def voices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node.voice for node in self._nodes.values()))

    def of_voice(self, voice: str) -> list[Node]:
        return [node for node in self._nodes.values() if node.voice == voice]

    def voice(self, name: str) -> str:
        """The voice of a URL; its own name if the URL is not set any more."""
        node = self._nodes.get(name)
        return name if node is None else node.voice

    @property
    def requests(self) -> int:
        """HTTP requests sent so far."""
        return sum(node.client.requests for node in self._nodes.values())

    def usable(self) -> list[Node]:
        """The nodes that can be used now, the preferred one first."""
        now = self._monotonic()
        return [node for node in self._nodes.values() if self.health[node.name].until <= now]

    def answering(self) -> list[Node]:
        """The usable nodes, and those that only lacked a block a moment ago."""
        soon = self._monotonic() + LAGGING_PAUSE
        return [node for node in self._nodes.values() if self.health[node.name].until <= soon]

    def most_blocks(self) -> int:
        """How long a range may be that is read twice: the second URL may need several requests for it."""
        return min((node.blocks.now for node in self.usable()), default=1) * MOST_REQUESTS

    def request(self, question: Callable[[Node], T], *, rather_not: str | None = None) -> tuple[T, Node]:
        """The answer of the first node that gives one, and that node.

        :param question: may send several requests; starts again with the next node where one fails.
        :param rather_not: the name of a node that is used, like all of its provider, only when no other
            answers.
        :raises NoNode: none of them answers now.
        :raises Moved: from the node that was used; it will be used again.
        """
        voice = None if rather_not is None else self.voice(rather_not)
        nodes = sorted(self.usable(), key=lambda node: (node.voice == voice, node.name == rather_not))
        for node in nodes:
            try:
                answer = question(node)
            except Moved as fault:
                self._moved(node, fault)
                raise
            except RpcFault as fault:
                self.failed(node, fault)
            else:
                self.health[node.name] = Health()
                return answer, node
        raise self._no_node()

    def failed(self, node: Node, fault: RpcFault) -> None:
        """Do not use a node for a while. What it did decides how long."""
        health, now = self.health[node.name], self._monotonic()
        health.fault = fault.words
        if isinstance(fault, FaultyAnswer):
            health.excluded = fault.words
            health.until = now + min(EXCLUDED_SECONDS * 2**health.faulty, LONGEST_EXCLUSION)
            health.faulty = min(health.faulty + 1, 16)
        elif isinstance(fault, NotThere):
            health.until = now + LAGGING_PAUSE
        else:
            for_ever = isinstance(fault, NotOffered | Forbidden)
            pause = LONGEST_PAUSE if for_ever else min(FIRST_PAUSE * 2**health.fails, LONGEST_PAUSE)
            if isinstance(fault, RateLimited) and fault.seconds is not None:
                pause = max(pause, fault.seconds)
            health.fails = min(health.fails + 1, 16)
            health.until = now + pause
        node.checked = False
        self._note(Trouble(node.name, fault.words, isinstance(fault, FaultyAnswer)))

    def note(self, trouble: Trouble) -> None:
        """Report a fault after which the URL is still used."""
        self._note(trouble)

    def close(self) -> None:
        for node in self._nodes.values():
            node.client.close()

    def _moved(self, node: Node, fault: Moved) -> None:
        health = self.health[node.name]
        health.moves += 1
        if health.moves >= MOST_MOVES:
            health.moves = 0
            self.failed(node, FaultyAnswer(f"{fault}, {MOST_MOVES} times in a row"))

    def _no_node(self) -> NoNode:
        if not self._nodes:
            return NoNode(
                "no URL is set: set the variables that its rpc names (docs/chains.md#add)", LONGEST_PAUSE
            )
        now = self._monotonic()
        wait = max(min(health.until for health in self.health.values()) - now, 0.05)
        faults = "; ".join(f"{name}: {health.fault or 'fails'}" for name, health in self.health.items())
        if all(health.excluded for health in self.health.values()):
            return NoNode(f"all URLs are excluded, and nothing is read: {faults}", wait)
        return NoNode(f"no URL responds: {faults}", wait)


def make_nodes(
    terms: WatchTerms,
    rpc_urls: Mapping[str, str],
    monotonic: Callable[[], float],
    note: Callable[[Trouble], None] = lambda _trouble: None,
) -> Nodes:
    """The nodes of a chain whose URLs are set; ``note`` is called with what goes wrong."""
    for name in terms.rpc:
        if name not in rpc_urls:
            note(Trouble(name, f"{name} is not set in the environment of the watcher"))
    hosts = {name: urlsplit(rpc_urls[name]).hostname or "" for name in terms.rpc if name in rpc_urls}
    voices = voices_of(hosts, terms.same_provider, terms.independent)
    nodes = [Node(name, terms.chain_id, Client(rpc_urls[name], monotonic=monotonic)) for name in hosts]
    for node in nodes:
        node.voice = voices[node.name]
    return Nodes(nodes, monotonic, note)
