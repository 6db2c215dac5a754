"""The effects of an edit on routes, prices and the reading of chains."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Final, NamedTuple

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
from app.network.rules.watch_terms import build_watch_terms
from app.network.sections import Row
from app.values.amounts import format_units, grouped, tokens_text
from app.values.differences import leaps, times_text
from app.values.identifiers import PoolKey, RouteKey

LISTED: Final = 50
"""How many routes are listed one by one; the rest is only counted."""


class OpenRoute(NamedTuple):
    """One direction in which a token can be sent now: through pools, or pegged."""

    route_key: RouteKey
    is_pegged: bool


def route_effects(
    stopped: Collection[OpenRoute],
    opened: Collection[OpenRoute],
    names: Mapping[int, str],
    recent: Mapping[RouteKey, int],
) -> Iterator[Effect]:
    """The routes that an edit stops and opens.

    :param names: of the chains, by id.
    :param recent: how many transfers of the last 24 hours took each route that it stops.
    """
    for routes, verb, severity in ((stopped, "stop", Severity.GRAVE), (opened, "open", Severity.NOTICE)):
        lines = []
        for key, is_pegged in sorted(routes, key=lambda route: (route.is_pegged, route.route_key)):
            often = f": {_recently(recent[key])}" if key in recent else ""
            lines.append(f"{route_text(key, names)}{' (pegged)' if is_pegged else ''}{often}")
        if lines:
            text = f"{counted(len(lines), 'route')} {verb}{'s' if len(lines) == 1 else ''} at once"
            if used := sum(recent.get(key, 0) for key in {route.route_key for route in routes}):
                text += f"; {_recently(used)}"
            rest = [f"and {grouped(len(lines) - LISTED)} more"] if len(lines) > LISTED else []
            yield Effect(text, severity, (*lines[:LISTED], *rest))


def _recently(count: int) -> str:
    return f"{counted(count, 'transfer')} in the last 24 hours"


def open_routes(terms: NetworkTerms) -> frozenset[OpenRoute]:
    """Every direction in which the configuration allows a token to be sent. Pools and fees do not matter."""
    every = [
        *(OpenRoute(key, False) for key in terms.routes),
        *(OpenRoute(key, True) for key in terms.pegged),
    ]
    return frozenset(route for route in every if is_open(terms, *route))


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


def watching_effects(before: Mapping[str, list[Row]], after: Mapping[str, list[Row]]) -> Iterator[Effect]:
    """Chains whose reading ends, cannot be done, or starts again from the first block."""
    was, will = (build_watch_terms(rows, build_facts(rows)) for rows in (before, after))
    for chain_id in sorted(was.keys() | will.keys()):
        old, new = was.get(chain_id), will.get(chain_id)
        if new is None:
            status = "its transfers keep their status until a reporter sends events"
            yield Effect(f"{was[chain_id].name} is no longer watched: {status}", Severity.GRAVE)
            continue
        if old is not None and (new.contracts - old.contracts or new.from_block < old.from_block):
            yield Effect(f"{new.name} is read again from block {grouped(new.from_block)} on")
        if stray := sorted({*new.same_provider, *new.independent} - {*new.rpc}):
            words = "what is said of its provider has no effect"
            yield Effect(f"{new.name} has no node {', '.join(stray)}: {words}")
        if not new.rpc and (old is None or old.rpc):
            yield Effect(f"{new.name} has no nodes: it cannot be read", Severity.GRAVE)


def chain_effects(before: Row | None, after: Row, validators: Iterable[Row]) -> Iterator[Effect]:
    """The effects of a new or changed chain on its transfers, estimates and refunds.

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
    for column, text, shown in (
        ("block_delay", "clients are told that transfers from it wait {} blocks instead of {}", str),
        (
            "minimal_max_slippage",
            "estimates from it have a max_slippage of at least {} instead of {}",
            percent_text,
        ),
    ):
        if before[column] != after[column] and leaps(before[column], after[column], FEE_LEAP):
            yield Effect(
                f"{name}: {text.format(*map(shown, (after[column], before[column])))}", Severity.GRAVE
            )


FEE_LEAP: Final = Fraction(5)
"""A fee of five times the old one, or a fifth of it, is likely a typing error."""

RATE_LEAP: Final = Fraction(11, 10)

Unit = tuple[int, str]
"""Decimals and symbol."""

ReportedFees = Mapping[RouteKey, Reported]


def price_effects(
    before: NetworkTerms, after: NetworkTerms, reported: ReportedFees, now: datetime
) -> Iterator[Effect]:
    """The effects on estimates for the routes and pegged ways that both configurations have."""
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
    yield from _rate_effect(name, old.rate, new.rate)
    yield from _tier_effects(name, old.tiers, new.tiers, src)


def _unit(terms: NetworkTerms, token: PoolKey) -> Unit:
    return terms.tokens[token].decimals, token.symbol


def fee_effect(
    name: str, old: int | None, new: int | None, unit: Unit, over: BaseFee | None = None
) -> Effect:
    """The effect of a new configured base fee on one route.

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


def _rate_effect(
    name: str, old: FixedRate | StableSwapRate, new: FixedRate | StableSwapRate
) -> Iterator[Effect]:
    """A rate that leaps, or is found in another way. Trial estimates show what smaller changes do."""
    if isinstance(old, FixedRate) and isinstance(new, FixedRate):
        if leaps(old.value, new.value, RATE_LEAP):
            times = times_text(old.value, new.value)
            yield Effect(f"{name}: rate {times} ({old.text} → {new.text})", Severity.GRAVE)
    elif type(old) is not type(new):
        yield Effect(f"{name}: rate from {_rate_text(old)} to {_rate_text(new)}", Severity.GRAVE)


def _rate_text(rate: FixedRate | StableSwapRate) -> str:
    if isinstance(rate, FixedRate):
        return f"fixed {rate.text}"
    return f"the StableSwap curve with amplification {rate.amplification}"


def _tier_effects(
    name: str, old: tuple[FeeTier, ...] | None, new: tuple[FeeTier, ...] | None, unit: Unit
) -> Iterator[Effect]:
    """Where the protocol fee is not known any more, or leaps at an amount where a tier of either begins."""
    if old is None or new is None:
        if old is not None:
            yield Effect(f"{name}: the protocol fee is no longer known: no estimates", Severity.GRAVE)
        return
    lines = [
        f"from {tokens_text(start, *unit)}: {percent_text(was)} → {percent_text(will)}"
        for start in sorted({tier.from_amount for tier in (*old, *new)})
        for was, will in [(_ppm_at(old, start), _ppm_at(new, start))]
        if was != will and leaps(was, will, FEE_LEAP)
    ]
    if lines:
        yield Effect(f"{name}: protocol fee changes", Severity.GRAVE, tuple(lines))


def _ppm_at(tiers: tuple[FeeTier, ...], amount: int) -> int:
    return max((tier for tier in tiers if tier.from_amount <= amount), key=lambda t: t.from_amount).ppm


def percent_text(ppm: int) -> str:
    """``400`` parts per million is ``0.04 %``."""
    return f"{format_units(ppm, 4)} %"
