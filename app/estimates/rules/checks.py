"""An estimate: an answer, or the refusal of the first check that fails. Exact to the smallest unit.

Each check is here once, in order, with its reason and its message
(docs/interface/estimates.md#estimate-checks). The interfaces make check 1, whether the request can be read;
these are 2 to 10.
"""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from app.estimates.rules.inputs import EstimateInputs
from app.estimates.rules.passing import advise
from app.estimates.rules.pricing import (
    Calculation,
    Price,
    Priced,
    TransferTerms,
    price_transfer,
    wants_pegged,
)
from app.estimates.rules.refusals import (
    Check,
    EstimateRefused,
    amount_zero,
    chain_unknown,
    destinations,
    listed,
    next_epoch,
    nothing_passes,
    symbol_of,
    written,
)
from app.network.rules.terms import ChainTerms, FixedRate, RouteBlock, TokenTerms, overdue_by_limit
from app.values.amounts import MAX_UINT256, PPM
from app.values.codes import BridgeType, Reason


class Estimate(Struct, frozen=True):
    """The answer. Amounts are in the destination token's smallest units, from 0 to 2^256-1.

    ``bridge_rate`` is exact; ``amounts.rate_as_number`` writes it for clients. ``max_slippage``
    and ``slippage_tolerance`` are in parts per million, the latter an echo of the request.
    """

    eq_value_token_amt: int
    bridge_rate: Fraction
    perc_fee: int
    base_fee: int
    slippage_tolerance: int
    max_slippage: int
    estimated_receive_amt: int
    drop_gas_amt: int
    bridge_type: BridgeType


def estimate(inputs: EstimateInputs) -> Estimate:
    """Raises ``EstimateRefused`` and nothing else."""
    transfer, price, result = pass_checks(price_transfer(inputs))
    return Estimate(
        eq_value_token_amt=result.eq,
        bridge_rate=price.bridge_rate(result.amt, result.eq),
        perc_fee=result.perc_fee,
        base_fee=result.base_fee,
        slippage_tolerance=inputs.request.slippage_tolerance,
        max_slippage=result.max_slippage,
        estimated_receive_amt=result.receive,
        drop_gas_amt=transfer.dst_chain.drop_gas_amt,
        bridge_type=transfer.bridge_type,
    )


def pass_checks(priced: Priced) -> tuple[TransferTerms, Price, Calculation]:
    """The terms, price and numbers of a transfer that passes all checks, which are made in order.

    :raises EstimateRefused: with the first check that fails.
    """
    inputs = priced.inputs
    _check_access(inputs)
    src, dst = _check_chains(inputs)
    transfer = _check_way(priced, src, dst)
    _check_switches(inputs, transfer)
    _check_amount(priced, transfer)
    _check_terms(inputs, transfer)
    _check_inbound(priced, transfer)
    price, result = _check_price(priced, transfer)
    _check_result(priced, transfer, result)
    return transfer, price, result


def refusal_of(priced: Priced) -> EstimateRefused | None:
    try:
        pass_checks(priced)
    except EstimateRefused as refused:
        return refused
    return None


def _check_access(inputs: EstimateInputs) -> None:
    """Checks 2 and 3: neither the caller's network nor the user's address is blocked."""
    if inputs.caller_blocked:
        raise EstimateRefused(
            Check.CALLER_NETWORK,
            Reason.NETWORK_BLOCKED,
            "Estimates are not available over a VPN: turn off the VPN, or try again from another network",
        )
    if inputs.address_blocked:
        raise EstimateRefused(
            Check.ADDRESS,
            Reason.ADDRESS_BLOCKED,
            "Transfers are not available for this address; if you think this is a mistake, contact the "
            "gateway's operator",
        )


def _check_chains(inputs: EstimateInputs) -> tuple[ChainTerms, ChainTerms]:
    """Checks 4 and 5: two chains, both known, both in service."""
    request, src, dst = inputs.request, inputs.src_chain, inputs.dst_chain
    if request.src_chain_id == request.dst_chain_id:
        raise EstimateRefused(
            Check.SAME_CHAIN,
            Reason.SAME_CHAIN,
            "Only transfers from one chain to another are accepted: choose a dst_chain_id other than the "
            f"src_chain_id {request.src_chain_id}",
        )
    if src is None or dst is None:
        raise chain_unknown(request.src_chain_id if src is None else request.dst_chain_id)
    for chain in (src, dst):
        if chain.disabled:
            msg = f"{chain.name} is disabled at this moment: choose another chain, or try again later"
            raise EstimateRefused(Check.CHAIN_ENABLED, Reason.CHAIN_DISABLED, msg)
    return src, dst


def _check_way(priced: Priced, src: ChainTerms, dst: ChainTerms) -> TransferTerms:
    """Check 6: both chains have the token, and a route or a pegged pair, as requested, joins them."""
    inputs = priced.inputs
    if inputs.src_token is None:
        elsewhere = [name for name in inputs.symbol_chains if name != src.name]
        if inputs.spelling is not None:
            hint = f"letter case matters, send token_symbol={inputs.spelling}"
        elif elsewhere:
            hint = f"it can be sent from {listed(elsewhere)}"
        else:
            hint = "choose one of the tokens in /v2/getTransferConfigs"
        msg = f"{symbol_of(inputs)} is not supported on {src.name}: {hint}"
        raise EstimateRefused(Check.SRC_TOKEN, Reason.TOKEN_NOT_ON_SRC, msg)
    if inputs.dst_token is None:
        msg = f"{symbol_of(inputs)} is not supported on {dst.name}: {destinations(inputs, src)}"
        raise EstimateRefused(Check.DST_TOKEN, Reason.TOKEN_NOT_ON_DST, msg)
    if priced.transfer is None:
        pegged = wants_pegged(inputs)
        if pegged and inputs.route is not None:
            hint = "omit is_pegged for a transfer through the pools"
        elif not pegged and inputs.pegged is not None:
            hint = "set is_pegged to true for a pegged transfer"
        else:
            hint = destinations(inputs, src)
        kind, reason = ("pegged pair", Reason.NO_PEGGED_PAIR) if pegged else ("pool route", Reason.NO_ROUTE)
        msg = f"There is no {kind} for {symbol_of(inputs)} from {src.name} to {dst.name}: {hint}"
        raise EstimateRefused(Check.ROUTE, reason, msg)
    return priced.transfer


def _check_switches(inputs: EstimateInputs, transfer: TransferTerms) -> None:
    """Check 7: the token in service on both chains, and this direction not blocked. Pegged transfers too."""
    src, dst = transfer.src_chain, transfer.dst_chain
    for chain, token in ((src, transfer.src_token), (dst, transfer.dst_token)):
        if token.stopped or (token.pool_disabled and transfer.pools is not None):
            raise _token_disabled(inputs, src, chain, token)
    if inputs.block is RouteBlock.BOTH:
        raise EstimateRefused(
            Check.TOKEN_ENABLED,
            Reason.TRANSFER_DISABLED,
            f"Transfers of {symbol_of(inputs)} between {src.name} and {dst.name} are disabled in both "
            f"directions at this moment: {destinations(inputs, src)}",
        )
    if inputs.block is RouteBlock.ONE_WAY:
        raise EstimateRefused(
            Check.DIRECTION,
            Reason.DIRECTION_BLOCKED,
            f"Transfers of {symbol_of(inputs)} from {src.name} to {dst.name} are disabled at this moment: "
            f"{destinations(inputs, src)}",
        )


def _token_disabled(
    inputs: EstimateInputs, src: ChainTerms, chain: ChainTerms, token: TokenTerms
) -> EstimateRefused:
    through = "" if token.stopped else " through the pool"
    if through and inputs.pegged is not None:
        hint = "set is_pegged to true for a pegged transfer"
    else:
        hint = "try again later" if chain is src else destinations(inputs, src)
    where = f"on {chain.name} are disabled" if through else f"are disabled on {chain.name}"
    msg = f"Transfers of {symbol_of(inputs)}{through} {where} at this moment: {hint}"
    return EstimateRefused(Check.TOKEN_ENABLED, Reason.TRANSFER_DISABLED, msg)


def _check_amount(priced: Priced, transfer: TransferTerms) -> None:
    """Check 8: the amount over 0 and within the bounds that an operator sets. A refusal names an amount that
    passes every other check, too. Where there is none, it names the bound.
    """
    amt, token = priced.inputs.request.amt, transfer.src_token
    if amt <= 0:
        raise amount_zero()
    if token.min_send is not None and amt < token.min_send:
        advice = advise(priced)
        least = token.min_send if advice.smallest_passing_amt is None else advice.smallest_passing_amt
        msg = f"is too small: transfer at least {written(transfer, least)}"
        check, reason = Check.MIN_SEND, Reason.AMOUNT_UNDER_MINIMUM
    elif token.max_send is not None and amt > token.max_send:
        advice = advise(priced)
        most = token.max_send if advice.largest_passing_amt is None else advice.largest_passing_amt
        msg = f"is too large: transfer at most {written(transfer, most)}"
        check, reason = Check.MAX_SEND, Reason.AMOUNT_OVER_MAXIMUM
    else:
        return
    msg = f"A transfer of {written(transfer, amt)} from {transfer.src_chain.name} {msg}"
    raise EstimateRefused(check, reason, msg, advice)


def _check_terms(inputs: EstimateInputs, transfer: TransferTerms) -> None:
    """Check 8: whether fees are known, and for pool transfers the tolerance and the fee's age."""
    tolerance, pools = transfer.tolerance, transfer.pools
    if pools is not None and not (1 <= tolerance < PPM or inputs.request.tolerance_left_out):
        raise EstimateRefused(
            Check.SLIPPAGE_TOLERANCE,
            Reason.BAD_SLIPPAGE_TOLERANCE,
            "slippage_tolerance must be from 1 to 999999 parts per million, such as 5000 for 0.5 %, not "
            f"{tolerance}",
        )
    if not transfer.fees_known:
        msg = f"The fees of {_way(inputs, transfer)} are not known at this moment: try again later"
        raise EstimateRefused(Check.FEES_KNOWN, Reason.FEE_STALE, msg)
    route = inputs.route
    if pools is None or route is None:
        return
    allowed = overdue_by_limit(route.base_fee, route.base_fee_max_age_seconds, inputs.now)
    if allowed is not None:
        raise EstimateRefused(
            Check.BASE_FEE_AGE,
            Reason.FEE_STALE,
            f"The base fee of {_way(inputs, transfer)} is out of date (older than {allowed} seconds): "
            "try again in a few minutes",
        )


def _way(inputs: EstimateInputs, transfer: TransferTerms) -> str:
    return f"{symbol_of(inputs)} from {transfer.src_chain.name} to {transfer.dst_chain.name}"


def _check_inbound(priced: Priced, transfer: TransferTerms) -> None:
    """Check 9, the source pool: its inbound limit and epoch cap (1005), its total cap (1017)."""
    if transfer.pools is None:
        return
    amt, src = priced.inputs.request.amt, transfer.pools.src
    if amt > src.inbound_limit:
        raise _over_limit(priced, transfer, Check.INBOUND_LIMIT, Reason.INBOUND_LIMIT)
    rest = src.epoch_rest
    if rest is not None and amt > rest:
        raise _over_limit(priced, transfer, Check.EPOCH_CAP, Reason.EPOCH_CAP)
    rest = src.total_rest
    if rest is not None and amt > rest:
        raise _over_limit(priced, transfer, Check.TOTAL_CAP, Reason.TOTAL_CAP)


def _check_price(priced: Priced, transfer: TransferTerms) -> tuple[Price, Calculation]:
    """Check 9: neither side of a curve is empty (1004), and it gives a price (500)."""
    symbol = transfer.src_token.symbol
    if not priced.settled:
        raise EstimateRefused(
            Check.CURVE,
            Reason.CURVE_UNSETTLED,
            f"The pools give no price for this amount of {symbol} at this moment: "
            "try another amount, or try again later",
        )
    if priced.price is None or priced.result is None:
        raise EstimateRefused(
            Check.DST_BALANCE,
            Reason.NOT_ENOUGH_LIQUIDITY,
            f"No {symbol} can be transferred from {transfer.src_chain.name} to {transfer.dst_chain.name} "
            "at this moment because one of the two pools is empty: try again later",
        )
    return priced.price, priced.result


def _check_result(priced: Priced, transfer: TransferTerms, result: Calculation) -> None:
    """Check 9, the destination pool at a fixed rate (1004), and check 10: something is left, and fits."""
    pools = transfer.pools
    if pools is not None and isinstance(transfer.rate, FixedRate) and result.receive > pools.dst.balance:
        raise _over_limit(priced, transfer, Check.DST_BALANCE, Reason.NOT_ENOUGH_LIQUIDITY)
    if result.receive <= 0:
        raise _fees_eat(priced, transfer)
    if result.eq > MAX_UINT256:
        raise _over_limit(priced, transfer, Check.RESULT_SIZE, Reason.AMOUNT_TOO_LARGE)
    if result.max_slippage >= PPM:
        raise _slippage_too_high(priced, transfer)


def _over_limit(priced: Priced, transfer: TransferTerms, check: Check, reason: Reason) -> EstimateRefused:
    advice = advise(priced)
    if advice.largest_passing_amt is not None:
        msg = f"You can transfer up to {written(transfer, advice.largest_passing_amt)} at this moment"
    elif advice.smallest_passing_amt is not None:
        least = written(transfer, advice.smallest_passing_amt)
        msg = f"This amount is not possible at this moment: transfer at least {least}"
    else:
        msg = nothing_passes(priced.inputs, transfer, priced.price)
    if check is Check.EPOCH_CAP:
        msg += next_epoch(priced.inputs, transfer)
    return EstimateRefused(check, reason, msg, advice)


def _fees_eat(priced: Priced, transfer: TransferTerms) -> EstimateRefused:
    """500: nothing is left after the fees."""
    advice, msg = advise(priced), "The fees would use up this amount"
    if advice.smallest_passing_amt is not None:
        msg += f": transfer at least {written(transfer, advice.smallest_passing_amt)}"
    elif advice.largest_passing_amt is not None:
        msg += f": you can transfer up to {written(transfer, advice.largest_passing_amt)} at this moment"
    else:
        msg += f". {nothing_passes(priced.inputs, transfer, priced.price)}"
    return EstimateRefused(Check.FEES, Reason.AMOUNT_TOO_SMALL, msg, advice)


def _slippage_too_high(priced: Priced, transfer: TransferTerms) -> EstimateRefused:
    """1012: ``max_slippage`` is the whole amount or more, which no contract accepts."""
    advice = advise(priced, with_tolerance=True)
    remedies = []
    if advice.largest_passing_tolerance is not None:
        remedies.append(f"use a slippage_tolerance of {advice.largest_passing_tolerance} or less")
    if advice.smallest_passing_amt is not None:
        remedies.append(f"transfer at least {written(transfer, advice.smallest_passing_amt)}")
    elif advice.largest_passing_amt is not None:
        remedies.append(f"transfer up to {written(transfer, advice.largest_passing_amt)}")
    msg = "With this slippage_tolerance, nothing of this amount may be received"
    if remedies:
        msg += f": {', or '.join(remedies)}"
    else:
        msg += f". {nothing_passes(priced.inputs, transfer, priced.price)}"
    return EstimateRefused(Check.MAX_SLIPPAGE, Reason.SLIPPAGE_TOO_HIGH, msg, advice)
