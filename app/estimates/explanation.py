"""How an estimate comes about: each term with its formula and inputs, each limit with its headroom.

It uses the same calculation and checks as the answer (``pricing``, ``checks``). The console and
``explainEstimate`` ask for it; answering an estimate does not build it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from app.estimates.advice import largest_passing, smallest_passing
from app.estimates.checks import pass_checks
from app.estimates.curve import CurveUnsettled
from app.estimates.explained_terms import Limit, Term, limits_of, terms_of
from app.estimates.inputs import EstimateInputs
from app.estimates.pricing import Calculation, Price, TransferTerms, calculate, price_of, transfer_terms
from app.estimates.refusals import Check, EstimateRefused
from app.network.route_terms import StableSwapRate
from app.values.amounts import MAX_UINT256
from app.values.codes import BridgeType, ErrCode, Reason


class PassingRange(Struct, frozen=True):
    """The least and the most that pass now, in source units, whatever amount was asked for.

    ``most`` is None where 2^256-1, the largest amount that can be asked for, passes. Between the two nearly
    every amount passes; there may be gaps where a fee tier begins or a rounded-up fee grows by one.
    """

    least: int
    most: int | None


def passing_range(inputs: EstimateInputs) -> PassingRange | None:
    """The exact range; None where no amount passes or the curve gives no price. Raises nothing."""
    transfer = transfer_terms(inputs)
    if transfer is None:
        return None
    found = _search(transfer)
    if found is None or not all(_passes(inputs, amt) for amt in found):
        return None
    least, most = found
    return PassingRange(least, None if most == MAX_UINT256 else most)


def _search(transfer: TransferTerms) -> tuple[int, int] | None:
    """The least and the most by the limits alone."""
    try:
        price = price_of(transfer)
        if price is None:
            return None
        least = smallest_passing(transfer, price, 1)
        most = largest_passing(transfer, price, MAX_UINT256)
    except CurveUnsettled:
        return None
    return None if least is None or most is None else (least, most)


def _passes(inputs: EstimateInputs, amt: int) -> bool:
    """Whether this amount passes every check, including those that do not depend on it."""
    try:
        pass_checks(replace(inputs, request=replace(inputs.request, amt=amt)))
    except EstimateRefused:
        return False
    return True


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


class CheckResult(Struct, frozen=True):
    """One check, in their order. ``NOT_MADE``: it does not apply to this kind of transfer."""

    check: Check
    outcome: CheckOutcome


class Refusal(Struct, frozen=True):
    """The refusal as the answer gives it, with the amounts (source units) and tolerance that would pass."""

    check: Check
    code: ErrCode
    reason: Reason
    msg: str
    largest_passing_amt: int | None
    smallest_passing_amt: int | None
    largest_passing_tolerance: int | None


class Explanation(Struct, frozen=True):
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


ACCESS: Final = "access"

_OF_BLOCKS: Final = (Check.CALLER_NETWORK, Check.ADDRESS)

CHECK_NAMES: Final = (ACCESS, *(check.value for check in Check if check not in _OF_BLOCKS))
"""What the public is told. The two that look for blocks are one: which of them it was is told by nothing but
the code that the estimate itself answers."""


def check_name(check: Check) -> str:
    """The name of a check, one of ``CHECK_NAMES``."""
    return ACCESS if check in _OF_BLOCKS else check.value


def check_outcomes(results: Sequence[CheckResult]) -> list[tuple[str, CheckOutcome]]:
    """Each check with its outcome, in their order."""
    blocks = {result.outcome for result in results if result.check in _OF_BLOCKS}
    access = CheckOutcome.REFUSED if CheckOutcome.REFUSED in blocks else CheckOutcome.PASSED
    others = [(result.check.value, result.outcome) for result in results if result.check not in _OF_BLOCKS]
    return [(ACCESS, access), *others]
