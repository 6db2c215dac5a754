"""Which amounts pass at all: the least and the most, for the console's explanation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.domain.amounts import MAX_UINT256
from app.domain.estimate.checks import pass_checks
from app.domain.estimate.inputs import EstimateInputs
from app.domain.estimate.pricing import TransferTerms, price_of, transfer_terms
from app.domain.estimate.refusals import EstimateRefused
from app.domain.estimate.search import largest_passing, smallest_passing
from app.domain.estimate.stableswap import CurveUnsettled


@dataclass(frozen=True, slots=True)
class PassingRange:
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
