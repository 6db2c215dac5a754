"""Trial estimates of a route: by the checks and prices of every estimate, for amounts that are found here."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from app.estimates.rules.checks import pass_checks, refusal_of
from app.estimates.rules.inputs import EstimateInputs, EstimateRequest
from app.estimates.rules.passing import largest_passing, smallest_passing
from app.estimates.rules.pricing import CurveUnsettled, price_of, price_transfer
from app.estimates.rules.refusals import Check, EstimateRefused
from app.network.rules.far_rates import Quote, RouteTrial, Trial
from app.network.rules.terms import FixedRate
from app.values.amounts import MAX_UINT256
from app.values.identifiers import RouteKey

_NO_TOLERANCE: Final = 0

_NOT_OF_LIQUIDITY: Final = {Check.FEES_KNOWN, Check.BASE_FEE_AGE, Check.EPOCH_CAP, Check.TOTAL_CAP}
"""Checks that may pass later although the pools stay as they are, and so the rate of a curve."""


def trial_request(route_key: RouteKey) -> EstimateRequest:
    """A request for a transfer through the pools whose tolerance no check refuses. Its amount comes later."""
    symbol, src, dst = route_key
    return EstimateRequest(src, dst, symbol, 0, _NO_TOLERANCE, is_pegged=False, tolerance_left_out=True)


def try_route(before: EstimateInputs | None, after: EstimateInputs) -> RouteTrial:
    """The trial of a route in the present configuration and in a planned one, which both have its tokens.
    ``before`` is None where the route is not in the present one.
    """
    if after.src_token is None or after.dst_token is None:
        raise ValueError("a route whose tokens are not configured")
    was, will = None if before is None else trial_of(before), trial_of(after)
    return RouteTrial(
        after.src_token.symbol,
        after.src_token.decimals,
        after.dst_token.decimals,
        was,
        will,
        () if before is None or was is None else _same(before, was, after, will),
        None if before is None else _decimals(before),
    )


def trial_of(inputs: EstimateInputs) -> Trial:
    """The quotes of a route. Where no amount passes, what refuses the small one, and what it would bring."""
    token = inputs.src_token
    least = 1 if token is None else max(token.min_send or 0, 10**token.decimals)
    quotes = [quote for amt in _amounts(inputs, least) if (quote := quote_at(inputs, amt)) is not None]
    if quotes:
        return Trial(quotes[0], quotes[-1])
    refused = refusal_of(price_transfer(_with(inputs, least)))
    if refused is None:
        return Trial()
    return Trial(_later(inputs, least, refused.check), None, refused.check.label)


def _later(inputs: EstimateInputs, least: int, refused_by: Check) -> Quote | None:
    """What a small amount, not over the token's maximum, would bring that may pass later."""
    transfer = price_transfer(_with(inputs, least)).transfer
    if transfer is None or not (isinstance(transfer.rate, FixedRate) or refused_by in _NOT_OF_LIQUIDITY):
        return None
    return _unchecked(inputs, min(least, transfer.src_token.max_send or least))


def quote_at(inputs: EstimateInputs, amt: int) -> Quote | None:
    """What an amount brings; None where a check refuses it."""
    try:
        _, price, result = pass_checks(price_transfer(_with(inputs, amt)))
    except EstimateRefused:
        return None
    return Quote(amt, result.eq, result.receive, price.bridge_rate(amt, result.eq))


def _unchecked(inputs: EstimateInputs, amt: int) -> Quote | None:
    """What an amount would bring without checks and fees; None where there is no price."""
    priced = price_transfer(_with(inputs, amt))
    if priced.transfer is None:
        return None
    try:
        price = price_of(priced.transfer)
        eq = None if price is None else price.eq_down(amt)
    except CurveUnsettled:
        return None
    return None if price is None or eq is None else Quote(amt, eq, eq, price.bridge_rate(amt, eq))


def _amounts(inputs: EstimateInputs, least: int) -> tuple[int, ...]:
    """The small amount and the largest that pass every limit, as far as they are found."""
    priced = price_transfer(_with(inputs, least))
    if priced.transfer is None or priced.price is None:
        return ()
    try:
        small = smallest_passing(priced.transfer, priced.price, least)
        large = largest_passing(priced.transfer, priced.price, MAX_UINT256)
    except CurveUnsettled:
        return (least,)
    return tuple(amt for amt in (small, large) if amt is not None)


def _same(
    before: EstimateInputs, was: Trial, after: EstimateInputs, will: Trial
) -> tuple[tuple[Quote, Quote], ...]:
    """The quotes of the smallest and of the largest amount that pass before and after; where none passes
    before or after, those of the small amount without the checks.
    """
    if was.small is None or will.small is None or _decimals(before) != _decimals(after):
        return ()
    amounts, quote = [max(was.small.amt, will.small.amt)], _unchecked
    if was.large is not None and will.large is not None:
        amounts, quote = [*amounts, min(was.large.amt, will.large.amt)], quote_at
    pairs = ((quote(before, amt), quote(after, amt)) for amt in dict.fromkeys(amounts))
    return tuple((old, new) for old, new in pairs if old is not None and new is not None)


def _decimals(inputs: EstimateInputs) -> tuple[int, int] | None:
    src, dst = inputs.src_token, inputs.dst_token
    return None if src is None or dst is None else (src.decimals, dst.decimals)


def _with(inputs: EstimateInputs, amt: int) -> EstimateInputs:
    return replace(inputs, request=replace(inputs.request, amt=amt))
