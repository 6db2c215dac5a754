"""An estimate explained term by term: why this amount or why none, and which amounts would pass."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from msgspec import Struct

from app.estimates.admin.summary import (
    BRIDGE_TYPE_WORDS,
    CHECK_WORDS,
    INPUT_WORDS,
    LIMIT_WORDS,
    OUTCOME_WORDS,
    TERM_WORDS,
    Unit,
)
from app.estimates.curve import CURVE_DECIMALS
from app.estimates.estimate import Explanation, explain
from app.estimates.explained_terms import Limit, Term, Value
from app.estimates.explanation import CheckOutcome, PassingRange, Refusal, passing_range
from app.estimates.inputs import EstimateInputs
from app.network.route_terms import FixedRate
from app.transfers.admin.components import AmountText
from app.values.amounts import PPM, format_units
from app.values.codes import BridgeType
from app.values.times import age_in_words

RATE_DECIMALS: Final = 18

_YOUNGEST_SHOWN: Final = 0.1
"""Seconds; what was read since is of now."""


class Number(Struct, frozen=True):
    """A number in two notations.

    ``human`` is in whole tokens or percent, ``units`` in smallest units or millionths. ``human`` is empty
    where there is only one notation. A number with more decimals than are shown ends in an ellipsis.
    """

    human: str
    units: str


class NamedNumber(Struct, frozen=True):
    """A number and what it is called."""

    label: str
    number: Number


class TermLine(Struct, frozen=True):
    """A term: its formula, its inputs, and its rounding direction (empty: nothing to round)."""

    name: str
    label: str
    formula: str
    inputs: tuple[NamedNumber, ...]
    number: Number
    rounding: str


class LimitLine(Struct, frozen=True):
    """A limit, what this transfer uses of it, and what remains (``left``). Broken where that is under 0."""

    name: str
    label: str
    formula: str
    allowed: Number
    counted: Number
    left: Number
    broken: bool
    binds: bool
    largest: AmountText | None


class CheckLine(Struct, frozen=True):
    """One check in the order in which they are made."""

    name: str
    label: str
    outcome: CheckOutcome
    words: str


class Suggestion(Struct, frozen=True):
    """What would pass instead: an amount (source units) or a tolerance (millionths), in words and exact."""

    label: str
    amount: AmountText | None = None
    tolerance: int | None = None


class RefusalView(Struct, frozen=True):
    """Why there is no estimate: the answer's code, reason and message, and the check that refused."""

    code: int
    code_name: str
    reason: str
    msg: str
    check: str
    suggestions: tuple[Suggestion, ...]


class EstimateView(Struct, frozen=True):
    """Everything behind one estimate.

    ``rate_source`` and ``fee_source`` say where rate and base fee come from; empty while no route or
    pegged pair is known. ``facts_age`` says how old the pools' balances and the reported fee are; empty where
    they do not count. ``received`` is None beside a refusal. ``least`` and ``most`` are the amounts that
    pass, whatever was asked for. Both are None where none passes, ``most`` also where there is no bound.
    """

    inputs: tuple[tuple[str, str], ...]
    bridge_type_words: str
    rate_source: str
    fee_source: str
    facts_age: str
    terms: tuple[TermLine, ...]
    limits: tuple[LimitLine, ...]
    checks: tuple[CheckLine, ...]
    refusal: RefusalView | None
    received: AmountText | None
    least: AmountText | None
    most: AmountText | None


def estimate_view(inputs: EstimateInputs) -> EstimateView:
    """The explanation of these inputs for people, of an estimate or of its refusal."""
    explained, units = explain(inputs), _Units(inputs)
    passing = passing_range(inputs)
    receive = {term.name: term.value for term in explained.terms}.get("estimated_receive_amt")
    answered = explained.refusal is None and isinstance(receive, int)
    return EstimateView(
        inputs=tuple(_asked(inputs, units)),
        bridge_type_words=BRIDGE_TYPE_WORDS[explained.bridge_type],
        rate_source=_rate_source(inputs, explained),
        fee_source=_fee_source(inputs, explained),
        facts_age=_facts_age(inputs.facts_age),
        terms=tuple(_term(term, units) for term in explained.terms),
        limits=tuple(_limit(limit, units) for limit in explained.limits),
        checks=tuple(
            CheckLine(each.check.value, CHECK_WORDS[each.check], each.outcome, OUTCOME_WORDS[each.outcome])
            for each in explained.checks
        ),
        refusal=_refusal(explained.refusal, passing, units) if explained.refusal else None,
        received=units.dst(receive) if answered and isinstance(receive, int) else None,
        least=units.src(passing.least) if passing else None,
        most=units.src(passing.most) if passing and passing.most is not None else None,
    )


class _Units:
    """Writes numbers in the units of one request's tokens."""

    def __init__(self, inputs: EstimateInputs) -> None:
        self.symbol = inputs.request.token_symbol
        self._decimals = {
            Unit.SRC: inputs.src_token.decimals if inputs.src_token else None,
            Unit.DST: inputs.dst_token.decimals if inputs.dst_token else None,
            Unit.CURVE: CURVE_DECIMALS,
        }

    def src(self, amt: int) -> AmountText:
        return self._amount(amt, Unit.SRC)

    def dst(self, amt: int) -> AmountText:
        return self._amount(amt, Unit.DST)

    def _amount(self, amt: int, unit: Unit) -> AmountText:
        decimals = self._decimals[unit]
        return AmountText(amt, self.symbol, "" if decimals is None else format_units(amt, decimals))

    def number(self, value: Value, unit: Unit | None) -> Number:
        if isinstance(value, str):
            return Number("", value)
        if unit in (Unit.PPM, Unit.RATIO):
            share = Fraction(value) / (PPM if unit is Unit.PPM else 1)
            ppm = f"{value} ppm" if unit is Unit.PPM else decimal_down(share, RATE_DECIMALS)
            return Number(f"{decimal_down(share * 100, 4)} %", ppm)
        decimals = self._decimals.get(unit) if unit is not None else None
        if decimals is None:
            return Number("", decimal_down(Fraction(value), RATE_DECIMALS))
        whole = decimal_down(Fraction(value) / 10**decimals, decimals + 6)
        human = whole if unit is Unit.CURVE else f"{whole} {self.symbol}"
        return Number(human, decimal_down(Fraction(value), 6))


def decimal_down(value: Fraction, decimals: int) -> str:
    """A fraction as people write it, cut towards zero after so many decimals; an ellipsis marks a cut."""
    sign = "-" if value < 0 else ""
    scaled = abs(value) * 10**decimals
    digits = scaled.numerator // scaled.denominator
    rest = "" if scaled.denominator == 1 else "…"
    return f"{sign}{format_units(digits, decimals)}{rest}"


def _asked(inputs: EstimateInputs, units: _Units) -> list[tuple[str, str]]:
    request = inputs.request
    src, dst = inputs.src_chain, inputs.dst_chain
    amount = units.src(request.amt)
    tolerance = units.number(request.slippage_tolerance, Unit.PPM)
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


def _rate_source(inputs: EstimateInputs, explained: Explanation) -> str:
    if explained.bridge_type is BridgeType.UNDEFINED:
        return ""
    if explained.bridge_type is not BridgeType.POOL or inputs.route is None:
        return "1: a pegged token has the same value on both chains"
    rate = inputs.route.rate
    if isinstance(rate, FixedRate):
        return f"Fixed rate of the route, configured as {rate.text}"
    return f"StableSwap curve over the current balances of both pools, amplification {rate.amplification}"


def _fee_source(inputs: EstimateInputs, explained: Explanation) -> str:
    if explained.bridge_type is BridgeType.UNDEFINED:
        return ""
    if explained.bridge_type is not BridgeType.POOL or inputs.route is None:
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


def _term(term: Term, units: _Units) -> TermLine:
    words = TERM_WORDS[term.name]
    inputs = tuple(NamedNumber(*_input(name, value, units)) for name, value in term.inputs)
    number = units.number(term.value, words.unit)
    return TermLine(term.name, words.label, term.formula, inputs, number, term.rounding)


def _input(name: str, value: Value, units: _Units) -> tuple[str, Number]:
    if name in INPUT_WORDS:
        label, unit = INPUT_WORDS[name]
        return label, units.number(value, unit)
    words = TERM_WORDS[name]
    return words.label.lower(), units.number(value, words.unit)


def _limit(limit: Limit, units: _Units) -> LimitLine:
    label, unit = LIMIT_WORDS[limit.name]
    allowed, counted, left = (
        units.number(value, unit) for value in (limit.value, limit.counted, limit.headroom)
    )
    largest = None if limit.largest_amt is None else units.src(limit.largest_amt)
    broken = limit.headroom < 0 and limit.name in CHECK_WORDS
    return LimitLine(limit.name, label, limit.formula, allowed, counted, left, broken, limit.binds, largest)


def _refusal(refusal: Refusal, passing: PassingRange | None, units: _Units) -> RefusalView:
    nearest = [
        ("Largest smaller amount that passes", refusal.largest_passing_amt),
        ("Smallest larger amount that passes", refusal.smallest_passing_amt),
    ]
    if passing is not None:
        nearest += [("Minimum that passes", passing.least), ("Maximum that passes", passing.most)]
    suggestions: list[Suggestion] = []
    for label, amt in nearest:
        if amt is not None and amt not in {each.amount.units for each in suggestions if each.amount}:
            suggestions.append(Suggestion(label, units.src(amt)))
    if refusal.largest_passing_tolerance is not None:
        tolerance = refusal.largest_passing_tolerance
        suggestions.append(Suggestion("Highest slippage tolerance that passes", tolerance=tolerance))
    return RefusalView(
        code=int(refusal.code),
        code_name=refusal.code.name.removeprefix("ErrCode_"),
        reason=refusal.reason.value,
        msg=refusal.msg,
        check=CHECK_WORDS[refusal.check],
        suggestions=tuple(suggestions),
    )
