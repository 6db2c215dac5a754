"""Which ways clients derive from the transfer configs, and how those without a route are taken back.

A client takes a way through the pools to exist for every symbol that two chains list with
``token.xfer_disabled`` false, unless ``blocked_bridge_direct`` names it (docs/interface.md#transfer-configs).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import permutations
from typing import Final

from app.services.network.sections import Row

MAX_WITHOUT_ROUTE: Final = 2000
"""Ways without a route that are listed. Where there are more, tokens are marked at their chains instead."""

Token = tuple[int, str]
"""Chain id and symbol."""

Way = tuple[str, int, int]
"""Symbol, source, destination."""


@dataclass(frozen=True, slots=True)
class OfferedWays:
    """``closed``: the tokens not to be sent through the pool; ``blocked``: the directions that are listed."""

    closed: frozenset[Token]
    blocked: tuple[Way, ...]


def offered_ways(rows: Mapping[str, Sequence[Row]]) -> OfferedWays:
    """What to close and to block, so that exactly the ways with a route can be derived.

    Only where more than ``MAX_WITHOUT_ROUTE`` ways have no route, a few that have one are closed with them.
    """
    routes = {_way(row) for row in rows["routes"]}
    blocked = set(_blocked(rows["route_blocks"]))
    routed = {token for way in routes for token in _ends(way)}
    paired = {
        (row[column], row["symbol"])
        for row in rows["pegged_pairs"]
        for column in ("org_chain_id", "pegged_chain_id")
    }
    disabled = {row["chain_id"] for row in rows["chains"] if row["disabled"]}
    tokens = {(row["chain_id"], row["symbol"]): row for row in rows["tokens"]}
    closed = {
        token
        for token, row in tokens.items()
        if row["xfer_disabled"]
        or row["pool_disabled"]
        or token[0] in disabled
        or (token in paired and token not in routed)
    }
    is_open = tokens.keys() - closed
    known = {way for way in routes | blocked if is_open.issuperset(_ends(way))}
    marked = _marked(is_open, known, routes)
    return OfferedWays(
        frozenset(closed | marked), tuple(sorted(blocked.union(_missing(is_open - marked, known))))
    )


def _marked(is_open: Set[Token], known: Iterable[Way], routes: Iterable[Way]) -> set[Token]:
    """Tokens to close until few enough ways are without a route: those that have the fewest routes first."""
    tally = _Tally(is_open, known)
    routes_of = Counter(token for way in routes for token in _ends(way))
    marked: set[Token] = set()
    for token in sorted(is_open, key=lambda each: (routes_of[each], -tally.missing(each), each)):
        if tally.total <= MAX_WITHOUT_ROUTE:
            break
        if tally.missing(token):
            tally.close(token)
            marked.add(token)
    return marked


class _Tally:
    """How many ways would be derived that are not known, counted without listing them."""

    def __init__(self, is_open: Iterable[Token], known: Iterable[Way]) -> None:
        self._chains: defaultdict[str, set[int]] = defaultdict(set)
        for chain_id, symbol in is_open:
            self._chains[symbol].add(chain_id)
        self._known: defaultdict[Token, set[Way]] = defaultdict(set)
        self.total = sum(len(of) * (len(of) - 1) for of in self._chains.values())
        for way in known:
            self.total -= 1
            for token in _ends(way):
                self._known[token].add(way)

    def missing(self, token: Token) -> int:
        """The ways that go when the token is closed."""
        return 2 * (len(self._chains[token[1]]) - 1) - len(self._known[token])

    def close(self, token: Token) -> None:
        """Take the token, and the ways from and to it, out of the count."""
        self.total -= self.missing(token)
        self._chains[token[1]].discard(token[0])
        for way in self._known.pop(token):
            for end in _ends(way):
                self._known[end].discard(way)


def _missing(is_open: Iterable[Token], known: set[Way]) -> Iterator[Way]:
    """The ways that would be derived, but are neither a route nor blocked."""
    chains: defaultdict[str, list[int]] = defaultdict(list)
    for chain_id, symbol in is_open:
        chains[symbol].append(chain_id)
    for symbol, of in chains.items():
        for src, dst in permutations(of, 2):
            if (symbol, src, dst) not in known:
                yield symbol, src, dst


def _blocked(blocks: Iterable[Row]) -> Iterator[Way]:
    for row in blocks:
        symbol, src, dst = _way(row)
        yield symbol, src, dst
        if row["both_directions"]:
            yield symbol, dst, src


def _way(row: Row) -> Way:
    return row["symbol"], row["src_chain_id"], row["dst_chain_id"]


def _ends(way: Way) -> tuple[Token, Token]:
    symbol, src, dst = way
    return (src, symbol), (dst, symbol)
