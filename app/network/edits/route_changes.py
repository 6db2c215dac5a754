"""What an edit does to routes, prices and the reading of chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Final, NamedTuple

from msgspec import Struct

from app.audit.previews import Effect, Severity
from app.network.edits.refusals import counted
from app.network.rules.terms import (
    BaseFee,
    FeeTier,
    FixedRate,
    NetworkTerms,
    Reported,
    StableSwapRate,
    base_fee_now,
    outranking,
    pegged_is_open,
    pool_is_open,
)
from app.network.rules.validation_facts import build_facts
from app.network.rules.watch_terms import WatchTerms, build_watch_terms
from app.network.sections import Row
from app.values.amounts import format_units, grouped, tokens_text
from app.values.codes import BridgeType
from app.values.differences import leaps, times_text
from app.values.identifiers import ChainId, PoolKey, RouteKey

LISTED: Final = 50
"""How many routes are listed one by one; the rest is only counted."""


class OpenRoute(NamedTuple):
    """One direction in which a token can be sent now: through pools (``bridge`` None) or pegged."""

    route_key: RouteKey
    bridge: BridgeType | None


class RouteChanges(Struct, frozen=True):
    """The routes that an edit stops and opens. ``names`` are those of the chains, by id."""

    stopped: frozenset[OpenRoute]
    opened: frozenset[OpenRoute]
    names: Mapping[int, str]

    @classmethod
    def between(cls, before: NetworkTerms, after: NetworkTerms) -> RouteChanges:
        """The routes that are open in only one of two configurations."""
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
    """Every direction in which the configuration allows a token to be sent. Pools and fees do not matter."""
    every = [OpenRoute(route_key, None) for route_key in terms.routes]
    every += [OpenRoute(route_key, pegged.bridge_type) for route_key, pegged in terms.pegged.items()]
    return frozenset(
        opening for opening in every if is_open(terms, opening.route_key, opening.bridge is not None)
    )


def is_open(terms: NetworkTerms, route_key: RouteKey, is_pegged: bool | None = None) -> bool:
    """Whether neither chain, token nor block stops the route.

    :param is_pegged: the kind of route; None: either.
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
    """``4 routes and 2 pegged pairs``: routes are counted by direction, pairs once for both directions."""
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


def watching_effects(before: Mapping[str, list[Row]], after: Mapping[str, list[Row]]) -> Iterator[Effect]:
    """Chains whose reading begins, ends, or starts again from the first block."""
    was, will = (build_watch_terms(rows, build_facts(rows)) for rows in (before, after))
    for chain_id in sorted(was.keys() | will.keys()):
        old, new = was.get(chain_id), will.get(chain_id)
        if new is None and old is not None:
            status = "its transfers keep their status until a reporter sends events"
            yield Effect(f"{old.name} is no longer watched: {status}", Severity.GRAVE)
        elif new is not None:
            yield from _read(old, new)


def chain_effects(before: Row | None, after: Row, validators: Iterable[Row]) -> Iterator[Effect]:
    """What a new or changed chain means for its transfers, estimates and refunds.

    :param validators: the opening ones of every chain.
    """
    name = after["name"]
    if before is None:
        if not any(row["chain_id"] == after["chain_id"] for row in validators):
            yield Effect(
                f"no validators of {name} are known: its refunds cannot be verified until the feed reports "
                "them or an opening set is entered"
            )
        if after["watch_from_block"] is None:
            yield Effect(f"no watcher reads {name}: a reporter has to send its events")
        return
    for column, text in (
        ("block_delay", "clients are told that transfers from it wait {} blocks instead of {}"),
        ("minimal_max_slippage", "estimates from it have a max_slippage of at least {} instead of {}"),
    ):
        was, will = before[column], after[column]
        if was == will:
            continue
        shown = (percent_text(ppm) for ppm in (will, was)) if column != "block_delay" else (will, was)
        severity = Severity.GRAVE if leaps(was, will, FEE_LEAP) else Severity.NOTICE
        yield Effect(f"{name}: {text.format(*shown)}", severity)


def _read(old: WatchTerms | None, new: WatchTerms) -> Iterator[Effect]:
    if old is None:
        yield Effect(
            f"a running watcher reads {new.name} from block {grouped(new.from_block)} on", Severity.NOTICE
        )
    elif new.contracts - old.contracts:
        yield Effect(
            f"{new.name} is read again from block {grouped(new.from_block)} on, for the new contracts",
            Severity.NOTICE,
        )
    elif new.from_block < old.from_block:
        yield Effect(f"{new.name} is read again from block {grouped(new.from_block)} on", Severity.NOTICE)
    if stray := sorted({*new.same_provider, *new.independent} - {*new.rpc}):
        yield Effect(f"{new.name} has no node {', '.join(stray)}: what is said of its provider has no effect")
    if not new.rpc and (old is None or old.rpc):
        yield Effect(f"{new.name} has no nodes: it cannot be read", Severity.GRAVE)


FEE_LEAP: Final = Fraction(5)
"""A fee of five times the old one, or a fifth of it, is likely a typing error."""

RATE_LEAP: Final = Fraction(11, 10)

Unit = tuple[int, str]
"""Decimals and symbol."""

ReportedFees = Mapping[RouteKey, Reported]


def price_effects(
    before: NetworkTerms, after: NetworkTerms, reported: ReportedFees, now: datetime
) -> Iterator[Effect]:
    """What changes for estimates on the routes and pegged ways that both configurations have."""
    names = chain_names(after)
    for route_key in sorted(before.routes.keys() & after.routes.keys()):
        yield from _route_effects(route_key, (before, after), route_text(route_key, names), reported, now)
    for route_key in sorted(before.pegged.keys() & after.pegged.keys()):
        old, new = before.pegged[route_key], after.pegged[route_key]
        name = f"{route_text(route_key, names)} (pegged)"
        if old.base_fee != new.base_fee:
            token = new.dst_token or after.tokens[route_key.dst]
            yield fee_effect(name, old.base_fee, new.base_fee, (token.decimals, token.symbol))
        token = new.src_token or after.tokens[route_key.src]
        yield from _tier_effects(name, old.tiers, new.tiers, (token.decimals, token.symbol))


def _route_effects(
    route_key: RouteKey,
    both: tuple[NetworkTerms, NetworkTerms],
    name: str,
    reported: ReportedFees,
    now: datetime,
) -> Iterator[Effect]:
    old, new = (terms.routes[route_key] for terms in both)
    src, dst = (_unit(both[1], end) for end in (route_key.src, route_key.dst))
    was, will = (None if terms.base_fee is None else terms.base_fee.amount for terms in (old, new))
    by_feed = reported.get(route_key)
    if was != will:
        yield fee_effect(name, was, will, dst, outranking(new.pin, by_feed, now))
    if old.pin != new.pin:
        counted, counts = (base_fee_now(terms.pin, by_feed, terms.base_fee, now) for terms in (old, new))
        yield _pin_effect(name, counted, counts, dst)
    if old.rate != new.rate:
        yield _rate_effect(name, old.rate, new.rate)
    yield from _tier_effects(name, old.tiers, new.tiers, src)
    if old.base_fee_max_age_seconds != new.base_fee_max_age_seconds:
        age = new.base_fee_max_age_seconds
        limit = (
            "no maximum base-fee age"
            if age is None
            else f"no estimates with a base fee older than {grouped(age)} s"
        )
        yield Effect(f"{name}: {limit}")


def _unit(terms: NetworkTerms, token: PoolKey) -> Unit:
    return terms.tokens[token].decimals, token.symbol


def fee_effect(
    name: str, old: int | None, new: int | None, unit: Unit, over: BaseFee | None = None
) -> Effect:
    """What a new configured base fee means for one route.

    :param old: None where it was not known; likewise ``new``, without which there is no estimate.
    :param over: a pinned or reported fee that takes precedence.
    """
    decimals, symbol = unit
    was, will = ("not known" if fee is None else tokens_text(fee, decimals, symbol) for fee in (old, new))
    text = f"{name}: base fee {fee_times(old, new)} ({was} → {will})"
    leap = old is not None and new is not None and leaps(old, new, FEE_LEAP)
    if over is not None:
        counts = f"{tokens_text(over.amount, decimals, symbol)} {source_text(over)}"
        text += f"; no effect now: {counts} takes precedence"
    elif new is None:
        return Effect(f"{text}: no estimates", Severity.GRAVE)
    # A typing error is reported even where the fee does not count yet.
    return Effect(text, Severity.GRAVE if leap else Severity.NOTICE)


def _pin_effect(name: str, old: BaseFee | None, new: BaseFee | None, unit: Unit) -> Effect:
    """What a pin that is made, changed or removed means, compared with the fee that counted before."""
    was, will = ("not known" if fee is None else tokens_text(fee.amount, *unit) for fee in (old, new))
    if new is None:
        return Effect(
            f"{name}: the base fee ({was}) is no longer pinned, and no other is known: no estimates",
            Severity.GRAVE,
        )
    times = fee_times(None if old is None else old.amount, new.amount)
    if new.pinned_until is None:
        text = f"{name}: the base fee is no longer pinned: {times} ({was} → {will}, {source_text(new)})"
    else:
        text = (
            f"{name}: base fee {source_text(new)}: {times} ({was} → {will}); until then it takes "
            "precedence over the reported and the configured fee and never becomes too old"
        )
    leap = old is not None and leaps(old.amount, new.amount, FEE_LEAP)
    return Effect(text, Severity.GRAVE if leap else Severity.NOTICE)


def source_text(fee: BaseFee) -> str:
    """Where a base fee comes from: ``by the feed since 2026-11-20 12:00 UTC``."""
    if fee.pinned_until is not None:
        return f"pinned until {fee.pinned_until:%Y-%m-%d %H:%M} UTC"
    if fee.reported:
        return f"reported since {fee.since:%Y-%m-%d %H:%M} UTC"
    return "as configured"


def fee_times(old: int | None, new: int | None) -> str:
    """How much a base fee changes."""
    if old is None or new is None:
        return "unchanged" if old == new else "now known" if old is None else "no longer known"
    return times_text(old, new)


def _rate_effect(name: str, old: FixedRate | StableSwapRate, new: FixedRate | StableSwapRate) -> Effect:
    if isinstance(old, FixedRate) and isinstance(new, FixedRate):
        text = f"{name}: rate {times_text(old.value, new.value)} ({old.text} → {new.text})"
        return Effect(text, Severity.GRAVE if leaps(old.value, new.value, RATE_LEAP) else Severity.NOTICE)
    same_model = type(old) is type(new)
    return Effect(
        f"{name}: rate from {_rate_text(old)} to {_rate_text(new)}",
        Severity.NOTICE if same_model else Severity.GRAVE,
    )


def _rate_text(rate: FixedRate | StableSwapRate) -> str:
    if isinstance(rate, FixedRate):
        return f"fixed {rate.text}"
    return f"the StableSwap curve with amplification {rate.amplification}"


def _tier_effects(
    name: str, old: tuple[FeeTier, ...] | None, new: tuple[FeeTier, ...] | None, unit: Unit
) -> Iterator[Effect]:
    """Where the protocol fee differs. It is compared at each amount where a tier of either list begins."""
    if new is None:
        if old is not None:
            text = f"{name}: the protocol fee is no longer known: no estimates"
            yield Effect(text, Severity.GRAVE)
        return
    if old is None:
        shown = (f"from {tokens_text(t.from_amount, *unit)}: {percent_text(t.ppm)}" for t in new)
        yield Effect(f"{name}: the protocol fee is now known", Severity.NOTICE, tuple(shown))
        return
    lines, leap = [], False
    for start in sorted({tier.from_amount for tier in (*old, *new)}):
        was, will = _ppm_at(old, start), _ppm_at(new, start)
        if was != will:
            amount = tokens_text(start, *unit)
            lines.append(f"from {amount}: {percent_text(was)} → {percent_text(will)}")
            leap = leap or leaps(was, will, FEE_LEAP)
    if lines:
        severity = Severity.GRAVE if leap else Severity.NOTICE
        yield Effect(f"{name}: protocol fee changes", severity, tuple(lines))


def _ppm_at(tiers: tuple[FeeTier, ...], amount: int) -> int:
    return max((tier for tier in tiers if tier.from_amount <= amount), key=lambda t: t.from_amount).ppm


def percent_text(ppm: int) -> str:
    """``400`` parts per million is ``0.04 %``."""
    return f"{format_units(ppm, 4)} %"
