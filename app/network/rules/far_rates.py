"""Trial estimates of a route: what a small and a large amount would bring, and which rates are far from 1.

A route joins two tokens of one symbol, so a rate far from 1 is a typing error, or a curve over pools that it
does not fit. The pricing itself is handed in (``trying``).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from msgspec import Struct

from app.values.amounts import PPM, format_units, mul_div_down, tokens_text

FAR_PPM: Final = 10_000
"""A rate that differs from 1, or from its former value, by more millionths needs a confirmation."""

FITTING_PPM: Final = 1_000
"""A rate that is only copied differs from 1 by so many millionths at most."""

_RATE_DIGITS: Final = 6


class Quote(Struct, frozen=True):
    """What an amount (source units) brings: ``eq`` before fees, ``receive`` after them (destination units).

    ``rate`` is the estimate's bridge rate: received before fees over sent, in whole tokens.
    """

    amt: int
    eq: int
    receive: int
    rate: Fraction


class Trial(Struct, frozen=True):
    """Estimates for a small amount and for the largest that passes all checks.

    Small is one token, or the token's minimum if that is larger, or the first amount from there on that
    passes; where only less passes, it is the largest amount.

    Where no amount passes, ``refused_by`` is the condition that the small amount does not meet. ``small`` is
    then what it would bring without any check, because it may pass later without a change: an epoch ends, the
    feed reports a fee or liquidity. It is None on a curve that liquidity has to change first, and its rate.
    """

    small: Quote | None = None
    large: Quote | None = None
    refused_by: str = ""

    @property
    def is_far(self) -> bool:
        """Whether the small amount gets more or less than 1, beyond what is accepted."""
        return self.small is not None and is_far(self.small.rate)

    @property
    def gives_away(self) -> bool:
        """Whether the largest amount gets more than 1, beyond what is accepted."""
        return self.large is not None and (self.large.rate - 1) * PPM > FAR_PPM


class RouteTrial(Struct, frozen=True):
    """A route tried in two configurations with the same pools. ``before`` is None where it was not there.

    ``same`` are quotes before and after for the same amounts: the smallest and the largest that pass in both.
    ``symbol`` and the decimals are of its tokens. ``decimals_before`` are those of its source and destination
    before the change; None: the same.
    """

    symbol: str
    src_decimals: int
    dst_decimals: int
    before: Trial | None
    after: Trial
    same: tuple[tuple[Quote, Quote], ...] = ()
    decimals_before: tuple[int, int] | None = None


def is_far(rate: Fraction, most_ppm: int = FAR_PPM) -> bool:
    """Whether a rate differs from 1 by more than so many millionths."""
    return abs(rate - 1) * PPM > most_ppm


def has_moved(before: Fraction, after: Fraction) -> bool:
    """Whether a rate leaves its former value by more than is accepted."""
    return abs(after - before) * PPM > before * FAR_PPM


def dangers(trial: RouteTrial) -> Iterator[str]:
    """What is wrong with the rate of a route, or with its change.

    The largest amount may get much less than 1: a curve charges for the balance that the amount uses up.
    """
    small, large = trial.after.small, trial.after.large
    if small is not None and trial.after.is_far:
        yield f"the rate of a small amount, {rate_down(small.rate)}, differs from 1 by more than 1 %"
    if large is not None and trial.after.gives_away:
        yield f"the rate of the largest amount, {rate_down(large.rate)}, is more than 1.01"
    moved = [(before, after) for before, after in trial.same if has_moved(before.rate, after.rate)]
    for before, after in moved[:1]:
        amount = tokens_text(after.amt, trial.src_decimals, trial.symbol)
        rates = f"{rate_down(before.rate)} → {rate_down(after.rate)}"
        yield f"the rate of {amount} changes by more than 1 %: {rates}"


def has_high_impact(trial: RouteTrial) -> bool:
    """Whether the change of a route has to be confirmed by a typed name.

    A change that moves no rate, such as one of a fee, has not led to what was wrong before it, unless no
    amount passed before it.
    """
    before, after = trial.before or Trial(), trial.after
    lets_pass = bool(before.refused_by) and not after.refused_by
    moves_none = bool(trial.same) and all(old.rate == new.rate for old, new in trial.same)
    as_before = (
        moves_none
        and not lets_pass
        and before.is_far >= after.is_far
        and before.gives_away >= after.gives_away
    )
    return not as_before and any(dangers(trial))


def rate_down(rate: Fraction) -> str:
    """The rate as a decimal for people, rounded down to six digits after the point."""
    scaled = mul_div_down(rate.numerator, 10**_RATE_DIGITS, rate.denominator)
    return format_units(scaled, _RATE_DIGITS)
