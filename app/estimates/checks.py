"""The checks of an estimate in their order, each rule once (docs/interface.md#estimate-checks).

The interfaces make check 1, whether the request can be read; these are 2 to 10.
"""

from __future__ import annotations

from msgspec import Struct

from app.estimates import refusals as refuse
from app.estimates.advice import (
    amount_over_maximum,
    amount_under_minimum,
    curve_unsettled,
    empty_curve,
    fees_eat,
    over_limit,
    slippage_too_high,
)
from app.estimates.curve import CurveUnsettled
from app.estimates.inputs import EstimateInputs
from app.estimates.pricing import (
    Calculation,
    Price,
    TransferTerms,
    calculate,
    price_of,
    transfer_terms,
    wants_pegged,
)
from app.estimates.refusals import Check
from app.network.route_terms import ChainTerms, FixedRate, RouteBlock, overdue_by_limit
from app.values.amounts import MAX_UINT256, PPM


class Passed(Struct, frozen=True):
    """A transfer that passed every check, and its numbers."""

    transfer: TransferTerms
    price: Price
    calculation: Calculation


def pass_checks(inputs: EstimateInputs) -> Passed:
    """Make every check in order. Raises ``EstimateRefused`` with the first that fails."""
    transfer = _check_parties(inputs)
    _check_request(inputs, transfer)
    _check_inbound(inputs, transfer)
    try:
        price = price_of(transfer)
        if price is None:
            raise empty_curve(transfer)
        calculation = calculate(transfer, price, inputs.request.amt)
    except CurveUnsettled:
        raise curve_unsettled(transfer) from None
    _check_result(inputs, transfer, calculation)
    return Passed(transfer, price, calculation)


def _check_parties(inputs: EstimateInputs) -> TransferTerms:
    """Checks 2 to 7, and the terms of a transfer that passes them."""
    if inputs.caller_blocked:
        raise refuse.network_blocked()
    if inputs.address_blocked:
        raise refuse.address_blocked()
    src, dst = _check_chains(inputs)
    if inputs.src_token is None:
        raise refuse.token_not_on_src(inputs, src)
    if inputs.dst_token is None:
        raise refuse.token_not_on_dst(inputs, src, dst)
    transfer = transfer_terms(inputs)
    if transfer is None:
        raise refuse.no_route(inputs, src, dst, pegged=wants_pegged(inputs))
    _check_switches(inputs, transfer)
    return transfer


def _check_chains(inputs: EstimateInputs) -> tuple[ChainTerms, ChainTerms]:
    """Checks 4 and 5: two chains, both known, both in service."""
    request, src, dst = inputs.request, inputs.src_chain, inputs.dst_chain
    if request.src_chain_id == request.dst_chain_id:
        raise refuse.same_chain(inputs)
    if src is None or dst is None:
        raise refuse.chain_unknown(request.src_chain_id if src is None else request.dst_chain_id)
    if src.disabled or dst.disabled:
        raise refuse.chain_disabled(src if src.disabled else dst)
    return src, dst


def _check_switches(inputs: EstimateInputs, transfer: TransferTerms) -> None:
    """Check 7: the token in service on both chains, and this direction not blocked. Pegged transfers too."""
    src, dst = transfer.src_chain, transfer.dst_chain
    for chain, token in ((src, transfer.src_token), (dst, transfer.dst_token)):
        if token.stopped:
            raise refuse.token_disabled(inputs, src, chain)
        if token.pool_disabled and transfer.pools is not None:
            raise refuse.pool_disabled(inputs, src, chain)
    if inputs.block is not RouteBlock.NONE:
        raise refuse.route_blocked(inputs, src, dst)


def _check_request(inputs: EstimateInputs, transfer: TransferTerms) -> None:
    """Check 8: the amount, whether fees are known, and for pool transfers the tolerance and the fee's age."""
    amt, token = inputs.request.amt, transfer.src_token
    if amt <= 0:
        raise refuse.amount_zero()
    if token.min_send is not None and amt < token.min_send:
        raise amount_under_minimum(inputs, transfer)
    if token.max_send is not None and amt > token.max_send:
        raise amount_over_maximum(inputs, transfer)
    if transfer.pools is None:
        _check_fees_known(inputs, transfer)
        return
    if not (1 <= transfer.tolerance < PPM or inputs.request.tolerance_left_out):
        raise refuse.tolerance_out_of_range(transfer.tolerance)
    _check_fees_known(inputs, transfer)
    allowed = base_fee_overdue(inputs)
    if allowed is not None:
        raise refuse.base_fee_stale(inputs, transfer.src_chain, transfer.dst_chain, allowed)


def _check_fees_known(inputs: EstimateInputs, transfer: TransferTerms) -> None:
    if not transfer.fees_known:
        raise refuse.fees_unknown(inputs, transfer.src_chain, transfer.dst_chain)


def base_fee_overdue(inputs: EstimateInputs) -> int | None:
    """The seconds that the route allows its base fee, where it is older; an unknown age is too old."""
    route = inputs.route
    return (
        None
        if route is None
        else overdue_by_limit(route.base_fee, route.base_fee_max_age_seconds, inputs.now)
    )


def _check_inbound(inputs: EstimateInputs, transfer: TransferTerms) -> None:
    """Check 9, the source pool: its inbound limit and epoch cap (1005), its total cap (1017)."""
    if transfer.pools is None:
        return
    amt, src = inputs.request.amt, transfer.pools.src
    if amt > src.inbound_limit:
        raise over_limit(inputs, transfer, Check.INBOUND_LIMIT)
    rest = src.epoch_rest
    if rest is not None and amt > rest:
        raise over_limit(inputs, transfer, Check.EPOCH_CAP)
    rest = src.total_rest
    if rest is not None and amt > rest:
        raise over_limit(inputs, transfer, Check.TOTAL_CAP)


def _check_result(inputs: EstimateInputs, transfer: TransferTerms, result: Calculation) -> None:
    """Check 9, the destination pool at a fixed rate (1004), and check 10."""
    pools = transfer.pools
    if pools is not None and isinstance(transfer.rate, FixedRate) and result.receive > pools.dst.balance:
        raise over_limit(inputs, transfer, Check.DST_BALANCE)
    if result.receive <= 0:
        raise fees_eat(inputs, transfer)
    if result.eq > MAX_UINT256:
        raise over_limit(inputs, transfer, Check.RESULT_SIZE)
    if result.max_slippage >= PPM:
        raise slippage_too_high(inputs, transfer)
