"""How an estimate comes about: each term with its formula and inputs, each limit with what is left of it.

It is made of the same calculation and the same checks as the answer (estimate_pricing,
estimate_checks) and only put into words here. Answering a request never builds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.domain.codes import BridgeType, ErrCode, Reason
from app.domain.estimate.checks import pass_checks
from app.domain.estimate.inputs import EstimateInputs, StableSwapRate
from app.domain.estimate.limits import Limit, limits_of
from app.domain.estimate.pricing import Calculation, Price, PricingTerms, calculate, plan_for, price_of
from app.domain.estimate.refusals import Check, EstimateRefused
from app.domain.estimate.stableswap import CurveUnsettled
from app.domain.estimate.terms import Term, terms_of

POOL_CHECKS = frozenset(
    {
        Check.SLIPPAGE_TOLERANCE,
        Check.BASE_FEE_AGE,
        Check.INBOUND_LIMIT,
        Check.EPOCH_CAP,
        Check.TOTAL_CAP,
        Check.CURVE,
        Check.DST_BALANCE,
        Check.MAX_SLIPPAGE,
    }
)
"""The checks that are not made for a pegged transfer; ``CURVE`` is not made at a fixed rate either."""


class CheckOutcome(StrEnum):
    """What a check came to."""

    PASSED = "passed"
    REFUSED = "refused"
    NOT_REACHED = "not_reached"
    NOT_MADE = "not_made"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check, in their order. ``NOT_MADE``: it does not apply to this kind of transfer."""

    check: Check
    outcome: CheckOutcome


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal as the answer gives it, with the amounts (source units) and tolerance that would pass."""

    check: Check
    code: ErrCode
    reason: Reason
    msg: str
    largest_passing_amt: int | None
    smallest_passing_amt: int | None
    largest_passing_tolerance: int | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything behind one answer; ``refusal`` is ``None`` where it is an estimate.

    ``terms`` and ``limits`` are there as far as they can be worked out, also beside a refusal:
    an unknown chain leaves none, an amount over a limit leaves all. ``bridge_type`` is
    ``UNDEFINED`` while the transfer's way is not known.
    """

    bridge_type: BridgeType
    terms: tuple[Term, ...]
    limits: tuple[Limit, ...]
    checks: tuple[CheckResult, ...]
    refusal: Refusal | None


def explain(inputs: EstimateInputs) -> Explanation:
    """Say how the answer to ``inputs`` comes about. Raises nothing."""
    refusal: Refusal | None = None
    try:
        pass_checks(inputs)
    except EstimateRefused as refused:
        refusal = Refusal(
            check=refused.check,
            code=refused.code,
            reason=refused.reason,
            msg=refused.msg,
            largest_passing_amt=refused.largest_passing_amt,
            smallest_passing_amt=refused.smallest_passing_amt,
            largest_passing_tolerance=refused.largest_passing_tolerance,
        )
    plan = plan_for(inputs)
    price, result = _worked_out(inputs, plan)
    return Explanation(
        bridge_type=plan.bridge_type if plan is not None else BridgeType.UNDEFINED,
        terms=terms_of(plan, price, result) if plan is not None else (),
        limits=limits_of(plan, price, result, inputs.request.amt) if plan is not None else (),
        checks=_checks(plan, refusal),
        refusal=refusal,
    )


def _worked_out(inputs: EstimateInputs, plan: PricingTerms | None) -> tuple[Price | None, Calculation | None]:
    """The price and the numbers of the amount asked for, as far as there are any."""
    if plan is None:
        return None, None
    price: Price | None = None
    try:
        price = price_of(plan)
        if price is None or inputs.request.amt <= 0:
            return price, None
        return price, calculate(plan, price, inputs.request.amt)
    except CurveUnsettled:
        return price, None


def _applies(check: Check, plan: PricingTerms) -> bool:
    """Whether a transfer on these terms is held against the check at all."""
    if check is Check.CURVE:
        return isinstance(plan.rate, StableSwapRate)
    return plan.pools is not None or check not in POOL_CHECKS


def _checks(plan: PricingTerms | None, refusal: Refusal | None) -> tuple[CheckResult, ...]:
    """Every check with what it came to: those before the refusing one have passed."""
    results = []
    outcome = CheckOutcome.PASSED
    for check in Check:
        if plan is not None and not _applies(check, plan):
            results.append(CheckResult(check, CheckOutcome.NOT_MADE))
        elif refusal is not None and check is refusal.check:
            results.append(CheckResult(check, CheckOutcome.REFUSED))
            outcome = CheckOutcome.NOT_REACHED
        else:
            results.append(CheckResult(check, outcome))
    return tuple(results)
