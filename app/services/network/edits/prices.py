"""What an edit of a route or a pegged pair does to prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Final

from app.domain.amounts import format_units, grouped, tokens_text
from app.domain.estimate.base_fees import Reported, base_fee_now, outranking
from app.domain.estimate.inputs import BaseFee, FeeTier, FixedRate, StableSwapRate
from app.domain.estimate.network_terms import NetworkTerms
from app.domain.keys import PoolKey, RouteKey
from app.domain.proportions import leaps, times_text
from app.services.network.edits.open_routes import chain_names, route_text
from app.services.network.edits.results import Effect, Severity

FEE_LEAP: Final = Fraction(5)
"""A fee that is five times the old one, or a fifth of it, is likely a typing error."""

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
    :param over: a pinned or reported fee, which counts in its place.
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
    # A slip of the pen is one whether or not the fee counts at once.
    return Effect(text, Severity.GRAVE if leap else Severity.NOTICE)


def _pin_effect(name: str, old: BaseFee | None, new: BaseFee | None, unit: Unit) -> Effect:
    """What a pin that is made, changed or lifted means, beside the fee that counted before."""
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
    """Where the protocol fee differs: tiers are compared at every amount at which either begins."""
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
