"""Which routes an edit stops or opens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from app.domain.amounts import grouped
from app.domain.codes import BridgeType
from app.domain.estimate.network_terms import NetworkTerms, pegged_is_open, pool_is_open
from app.domain.keys import ChainId, RouteKey
from app.services.network.edits.results import Effect, Severity, counted

LISTED: Final = 50
"""How many routes are listed one by one; the rest is only counted."""


class OpenRoute(NamedTuple):
    """One direction in which a token can be sent now: through pools (``bridge`` None) or pegged."""

    route_key: RouteKey
    bridge: BridgeType | None


@dataclass(frozen=True, slots=True)
class RouteChanges:
    """The routes that an edit stops and opens. ``names`` are those of the chains, by id."""

    stopped: frozenset[OpenRoute]
    opened: frozenset[OpenRoute]
    names: Mapping[int, str]

    @classmethod
    def between(cls, before: NetworkTerms, after: NetworkTerms) -> RouteChanges:
        """The routes that are open in one configuration and not in the other."""
        was, will = open_routes(before), open_routes(after)
        return cls(was - will, will - was, chain_names(before) | chain_names(after))

    def effects(self, recent: Mapping[RouteKey, int]) -> Iterator[Effect]:
        """The effects in words.

        :param recent: how many transfers of the last 24 hours took each route.
        """
        if self.stopped:
            text = f"{summary(self.stopped)} {_verb('stop', self.stopped)} at once"
            if used := sum(
                recent.get(route_key, 0) for route_key in {opening.route_key for opening in self.stopped}
            ):
                text += f"; {counted(used, 'transfer')} in the last 24 hours"
            yield Effect(text, Severity.GRAVE, self._listed(self.stopped, recent))
        if self.opened:
            text = f"{summary(self.opened)} {_verb('open', self.opened)} at once"
            yield Effect(text, Severity.NOTICE, self._listed(self.opened, {}))

    def _listed(self, openings: Iterable[OpenRoute], recent: Mapping[RouteKey, int]) -> tuple[str, ...]:
        lines = []
        for opening in sorted(openings, key=lambda opening: (opening.bridge is not None, opening.route_key)):
            kind = " (pegged)" if opening.bridge is not None else ""
            count = recent.get(opening.route_key, 0)
            used = f": {counted(count, 'transfer')} in the last 24 hours" if count else ""
            lines.append(f"{route_text(opening.route_key, self.names)}{kind}{used}")
        rest = len(lines) - LISTED
        return tuple(lines) if rest <= 0 else (*lines[:LISTED], f"and {grouped(rest)} more")


def open_routes(terms: NetworkTerms) -> frozenset[OpenRoute]:
    """Every direction in which the configuration lets a token be sent, whatever pools and fees are."""
    every = [OpenRoute(route_key, None) for route_key in terms.routes]
    every += [OpenRoute(route_key, pegged.bridge_type) for route_key, pegged in terms.pegged.items()]
    return frozenset(
        opening for opening in every if is_open(terms, opening.route_key, opening.bridge is not None)
    )


def is_open(terms: NetworkTerms, route_key: RouteKey, is_pegged: bool | None = None) -> bool:
    """Whether neither chain, token nor block stops the route.

    :param is_pegged: which way is meant; None: either, whichever there is.
    """
    if route_key in terms.blocks or any(
        terms.chains[end.chain_id].disabled for end in (route_key.src, route_key.dst)
    ):
        return False
    through_pool = is_pegged is not True and pool_is_open(terms.tokens, terms.routes, route_key)
    return through_pool or (is_pegged is not False and pegged_is_open(terms.tokens, terms.pegged, route_key))


def chain_names(terms: NetworkTerms) -> dict[int, str]:
    """Names of chains by their ids."""
    return {chain_id: chain.name for chain_id, chain in terms.chains.items()}


def route_text(route_key: RouteKey, names: Mapping[int, str]) -> str:
    """``USDT from Ethereum to BNB Chain``; a chain that is not configured by its number."""
    symbol, src, dst = route_key
    return f"{symbol} from {names.get(src, f'chain {src}')} to {names.get(dst, f'chain {dst}')}"


def summary(openings: Iterable[OpenRoute]) -> str:
    """``4 routes and 2 pegged pairs``: routes are counted by direction, pairs once for both of theirs."""
    routes: set[RouteKey] = set()
    pairs: dict[tuple[str, frozenset[ChainId], bool], int] = {}
    for route_key, bridge in openings:
        if bridge is None:
            routes.add(route_key)
        else:
            ends = frozenset((route_key.src_chain_id, route_key.dst_chain_id))
            key = route_key.symbol, ends, bridge is BridgeType.BURN_MINT
            pairs[key] = pairs.get(key, 0) + 1
    whole = sum(count == 2 and not minted for (_, _, minted), count in pairs.items())
    half = sum(count == 1 and not minted for (_, _, minted), count in pairs.items())
    minted = sum(count for (_, _, minted), count in pairs.items() if minted)
    parts = [
        counted(len(routes), "route") if routes else "",
        counted(whole, "pegged pair") if whole else "",
        f"{counted(half, 'pegged pair')} in one direction" if half else "",
        counted(minted, "route") + " between pegged chains" if minted else "",
    ]
    *most, last = [part for part in parts if part]
    return f"{', '.join(most)} and {last}" if most else last


def _verb(verb: str, openings: frozenset[OpenRoute]) -> str:
    """The verb for one or for several."""
    return verb if not summary(openings).startswith("1 ") or " and " in summary(openings) else f"{verb}s"
