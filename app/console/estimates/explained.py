"""An estimate explained term by term: why this amount or why none, and which amounts would pass."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from msgspec import Struct

from app.console.estimates.summary import BRIDGE_TYPE_WORDS
from app.console.transfers.components import AmountText
from app.estimates.rules.explained_terms import Counted, Value
from app.estimates.rules.explanation import Explanation, explain
from app.estimates.rules.inputs import EstimateInputs
from app.estimates.rules.pricing import CURVE_DECIMALS, price_transfer
from app.estimates.rules.refusals import EstimateRefused
from app.network.rules.route_terms import FixedRate
from app.values.amounts import MAX_UINT256, PPM, format_units
from app.values.times import age_in_words

RATE_DECIMALS: Final = 18

_YOUNGEST_SHOWN: Final = 0.1
"""Seconds. Facts that are not older than this count as read now."""


class Number(Struct, frozen=True):
    """A number in two notations.

    ``human`` is in whole tokens or percent, ``units`` in smallest units or millionths. ``human`` is empty
    where there is only one notation. A number with more decimals than are shown ends in an ellipsis.
    """

    human: str
    units: str


class Suggestion(Struct, frozen=True):
    """What would pass instead: an amount (source units) or a tolerance (millionths), in words and exact."""

    label: str
    amount: AmountText | None = None
    tolerance: int | None = None


class EstimateView(Struct, frozen=True):
    """An explanation, and what the page says about it in words.

    ``rate_source`` and ``fee_source`` say where rate and base fee come from; empty while no route or
    pegged pair is known. ``facts_age`` says how old the pools' balances and the reported fee are; empty where
    they do not count. ``received`` is None for a refusal. ``least`` and ``most`` are the amounts that pass,
    independently of the request. Both are None where none passes, ``most`` also where there is no bound.
    """

    explanation: Explanation
    units: Units
    inputs: tuple[tuple[str, str], ...]
    bridge_type_words: str
    rate_source: str
    fee_source: str
    facts_age: str
    suggestions: tuple[Suggestion, ...]
    received: AmountText | None
    least: AmountText | None
    most: AmountText | None


def estimate_view(inputs: EstimateInputs) -> EstimateView:
    """The explanation of these inputs for people, of an estimate or of its refusal."""
    explained, units = explain(price_transfer(inputs)), Units(inputs)
    passing, result = explained.passing, explained.priced.result
    least = passing.least_amt if passing else None
    most = passing.most_amt if passing and passing.most_amt < MAX_UINT256 else None
    return EstimateView(
        explanation=explained,
        units=units,
        inputs=tuple(_requested(inputs, units)),
        bridge_type_words=BRIDGE_TYPE_WORDS[explained.bridge_type],
        rate_source=_rate_source(explained),
        fee_source=_fee_source(explained),
        facts_age=_facts_age(inputs.facts_age),
        suggestions=_suggestions(explained.refusal, least, most, units) if explained.refusal else (),
        received=units.dst(result.receive) if result and explained.refusal is None else None,
        least=None if least is None else units.src(least),
        most=None if most is None else units.src(most),
    )


class Units:
    """Writes numbers in the units of one request's tokens."""

    def __init__(self, inputs: EstimateInputs) -> None:
        self.symbol = inputs.request.token_symbol
        self._decimals = {
            Counted.SRC: inputs.src_token.decimals if inputs.src_token else None,
            Counted.DST: inputs.dst_token.decimals if inputs.dst_token else None,
            Counted.CURVE: CURVE_DECIMALS,
        }

    def src(self, amt: int) -> AmountText:
        return self._amount(amt, Counted.SRC)

    def dst(self, amt: int) -> AmountText:
        return self._amount(amt, Counted.DST)

    def _amount(self, amt: int, counted: Counted) -> AmountText:
        decimals = self._decimals[counted]
        return AmountText(amt, self.symbol, "" if decimals is None else format_units(amt, decimals))

    def number(self, value: Value, counted: Counted | None) -> Number:
        if isinstance(value, str):
            return Number("", value)
        if counted in (Counted.PPM, Counted.RATIO):
            share = Fraction(value) / (PPM if counted is Counted.PPM else 1)
            ppm = f"{value} ppm" if counted is Counted.PPM else decimal_down(share, RATE_DECIMALS)
            return Number(f"{decimal_down(share * 100, 4)} %", ppm)
        decimals = self._decimals.get(counted) if counted is not None else None
        if decimals is None:
            return Number("", decimal_down(Fraction(value), RATE_DECIMALS))
        whole = decimal_down(Fraction(value) / 10**decimals, decimals + 6)
        human = whole if counted is Counted.CURVE else f"{whole} {self.symbol}"
        return Number(human, decimal_down(Fraction(value), 6))


def decimal_down(value: Fraction, decimals: int) -> str:
    """A fraction as people write it, cut towards zero after so many decimals; an ellipsis marks a cut."""
    sign = "-" if value < 0 else ""
    scaled = abs(value) * 10**decimals
    digits = scaled.numerator // scaled.denominator
    rest = "" if scaled.denominator == 1 else "…"
    return f"{sign}{format_units(digits, decimals)}{rest}"


def _requested(inputs: EstimateInputs, units: Units) -> list[tuple[str, str]]:
    request = inputs.request
    src, dst = inputs.src_chain, inputs.dst_chain
    amount = units.src(request.amt)
    tolerance = units.number(request.slippage_tolerance, Counted.PPM)
    return [
        ("From", f"{src.name} ({src.id})" if src else f"chain {request.src_chain_id}, not configured"),
        ("To", f"{dst.name} ({dst.id})" if dst else f"chain {request.dst_chain_id}, not configured"),
        ("Token", request.token_symbol),
        ("Amount", f"{amount}, {amount.units} smallest units" if amount.text else str(amount)),
        ("Slippage tolerance", f"{tolerance.human}, {tolerance.units}"),
        (
            "Pegged",
            {None: "Default: pegged pairs first", True: "Requested", False: "Not requested"}[
                request.is_pegged
            ],
        ),
    ]


def _rate_source(explained: Explanation) -> str:
    transfer = explained.priced.transfer
    if transfer is None:
        return ""
    if transfer.pools is None:
        return "1: a pegged token has the same value on both chains"
    rate = transfer.rate
    if isinstance(rate, FixedRate):
        return f"Fixed rate of the route, configured as {rate.text}"
    return f"StableSwap curve over the current balances of both pools, amplification {rate.amplification}"


def _fee_source(explained: Explanation) -> str:
    transfer, inputs = explained.priced.transfer, explained.priced.inputs
    if transfer is None:
        return ""
    if transfer.pools is None or inputs.route is None:
        return "Configured with the pegged pair"
    fee = inputs.route.base_fee
    if fee is None:
        return "Not known: neither configured with the route nor reported by the feed"
    if fee.pinned_until is not None:
        until = f"{fee.pinned_until:%Y-%m-%d %H:%M} UTC"
        return f"Pinned by an operator until {until}; used instead of the reported and the configured fee"
    since = f", {age_in_words(inputs.now - fee.since)}" if fee.since is not None else ""
    source = "Reported by the feed" if fee.reported else "Configured with the route"
    longest = inputs.route.base_fee_max_age_seconds
    good = f"; valid for {longest} seconds" if longest is not None else ""
    return f"{source}{since}{good}"


def _facts_age(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return "just now" if seconds < _YOUNGEST_SHOWN else f"{seconds:.1f} s ago"


def _suggestions(
    refusal: EstimateRefused, least: int | None, most: int | None, units: Units
) -> tuple[Suggestion, ...]:
    """The amounts and the tolerance that would pass, each once.

    :param least: the least amount that passes, independently of the request; None where none passes.
    :param most: the largest one; None also where there is no bound.
    """
    amounts = (
        ("Largest smaller amount that passes", refusal.largest_passing_amt),
        ("Smallest larger amount that passes", refusal.smallest_passing_amt),
        ("Minimum that passes", least),
        ("Maximum that passes", most),
    )
    labels: dict[int, str] = {}
    for label, amt in amounts:
        if amt is not None:
            labels.setdefault(amt, label)
    suggestions = [Suggestion(label, units.src(amt)) for amt, label in labels.items()]
    if refusal.largest_passing_tolerance is not None:
        tolerance = refusal.largest_passing_tolerance
        suggestions.append(Suggestion("Highest slippage tolerance that passes", tolerance=tolerance))
    return tuple(suggestions)
