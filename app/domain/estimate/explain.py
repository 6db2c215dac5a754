"""How an estimate comes about: each term with its formula and inputs, each limit with its headroom.

It uses the same calculation and checks as the answer (``pricing``, ``checks``). The console and
``explainEstimate`` ask for it; answering an estimate does not build it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.domain.codes import BridgeType, ErrCode, Reason
from app.domain.estimate.checks import pass_checks
from app.domain.estimate.inputs import EstimateInputs, StableSwapRate
from app.domain.estimate.limits import Limit, limits_of
from app.domain.estimate.pricing import Calculation, Price, TransferTerms, calculate, price_of, transfer_terms
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
    """The outcome of a check."""

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
    none for an unknown chain, all for an amount over a limit. ``bridge_type`` is
    ``UNDEFINED`` while the route is not known.
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
    transfer = transfer_terms(inputs)
    price, result = _worked_out(inputs, transfer)
    return Explanation(
        bridge_type=transfer.bridge_type if transfer is not None else BridgeType.UNDEFINED,
        terms=terms_of(transfer, price, result) if transfer is not None else (),
        limits=limits_of(transfer, price, result, inputs.request.amt) if transfer is not None else (),
        checks=_checks(transfer, refusal),
        refusal=refusal,
    )


def _worked_out(
    inputs: EstimateInputs, transfer: TransferTerms | None
) -> tuple[Price | None, Calculation | None]:
    """The price and the numbers of the amount asked for, as far as there are any."""
    if transfer is None or not transfer.fees_known:
        return None, None
    price: Price | None = None
    try:
        price = price_of(transfer)
        if price is None or inputs.request.amt <= 0:
            return price, None
        return price, calculate(transfer, price, inputs.request.amt)
    except CurveUnsettled:
        return price, None


def _applies(check: Check, transfer: TransferTerms) -> bool:
    """Whether the check is made for a transfer on these terms."""
    if check is Check.CURVE:
        return isinstance(transfer.rate, StableSwapRate)
    return transfer.pools is not None or check not in POOL_CHECKS


def _checks(transfer: TransferTerms | None, refusal: Refusal | None) -> tuple[CheckResult, ...]:
    """Every check with its outcome: those before the refusing one have passed."""
    results = []
    outcome = CheckOutcome.PASSED
    for check in Check:
        if transfer is not None and not _applies(check, transfer):
            results.append(CheckResult(check, CheckOutcome.NOT_MADE))
        elif refusal is not None and check is refusal.check:
            results.append(CheckResult(check, CheckOutcome.REFUSED))
            outcome = CheckOutcome.NOT_REACHED
        else:
            results.append(CheckResult(check, outcome))
    return tuple(results)
