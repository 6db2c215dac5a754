"""Which amounts pass at all: the least and the most, for whoever wonders why one does not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.domain.amounts import MAX_UINT256
from app.domain.estimate.checks import pass_checks
from app.domain.estimate.inputs import EstimateInputs
from app.domain.estimate.pricing import PricingTerms, plan_for, price_of
from app.domain.estimate.refusals import EstimateRefused
from app.domain.estimate.search import largest_passing, smallest_passing
from app.domain.estimate.stableswap import CurveUnsettled


@dataclass(frozen=True, slots=True)
class PassingRange:
    """The least and the most that pass now, in source units, whatever amount was asked for.

    ``most`` is None where any amount that can be asked for (2^256-1) passes up there. Between them nearly
    every amount does: where a fee tier begins, or a rounded-up fee grows by one, there may be gaps.
    """

    least: int
    most: int | None


def passing_range(inputs: EstimateInputs) -> PassingRange | None:
    """The range of these terms, exact; None where no amount passes or nobody can say. Raises nothing."""
    plan = plan_for(inputs)
    if plan is None:
        return None
    found = _search(plan)
    if found is None or not all(_passes(inputs, amt) for amt in found):
        return None
    least, most = found
    return PassingRange(least, None if most == MAX_UINT256 else most)


def _search(plan: PricingTerms) -> tuple[int, int] | None:
    """The least and the most by the limits alone."""
    try:
        price = price_of(plan)
        if price is None:
            return None
        least = smallest_passing(plan, price, 1)
        most = largest_passing(plan, price, MAX_UINT256)
    except CurveUnsettled:
        return None
    return None if least is None or most is None else (least, most)


def _passes(inputs: EstimateInputs, amt: int) -> bool:
    """Whether this amount passes every check, those that look at no amount too."""
    try:
        pass_checks(replace(inputs, request=replace(inputs.request, amt=amt)))
    except EstimateRefused:
        return False
    return True
