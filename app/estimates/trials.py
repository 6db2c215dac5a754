"""Trial estimates of a route: by the checks and prices of every estimate, for amounts that are found here."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from app.estimates.checks import pass_checks, refusal_of
from app.estimates.inputs import EstimateInputs, EstimateRequest
from app.estimates.passing import largest_passing, smallest_passing
from app.estimates.pricing import CurveUnsettled, price_transfer
from app.estimates.refusals import EstimateRefused
from app.network.edits.trials import Quote, RouteTrial, Trial
from app.values.amounts import MAX_UINT256
from app.values.identifiers import RouteKey

_NO_TOLERANCE: Final = 0


def trial_request(route_key: RouteKey) -> EstimateRequest:
    """A request for a transfer through the pools whose tolerance no check refuses. Its amount comes later."""
    symbol, src, dst = route_key
    return EstimateRequest(src, dst, symbol, 0, _NO_TOLERANCE, is_pegged=False, tolerance_left_out=True)


def try_route(before: EstimateInputs | None, after: EstimateInputs) -> RouteTrial:
    """The trial of a route in the present configuration and in a planned one, which both have its tokens.

    :param before: None where the route is not in the present configuration.
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
    """The quotes of a route, or what refuses the small amount where no amount passes."""
    token = inputs.src_token
    least = 1 if token is None else max(token.min_send or 0, 10**token.decimals)
    quotes = [quote for amt in _amounts(inputs, least) if (quote := quote_at(inputs, amt)) is not None]
    if quotes:
        return Trial(quotes[0], quotes[-1])
    refused = refusal_of(price_transfer(_with(inputs, least)))
    return Trial(refused_by="" if refused is None else refused.check.label)


def quote_at(inputs: EstimateInputs, amt: int) -> Quote | None:
    """What an amount brings; None where a check refuses it."""
    try:
        _, price, result = pass_checks(price_transfer(_with(inputs, amt)))
    except EstimateRefused:
        return None
    return Quote(amt, result.eq, result.receive, price.bridge_rate(amt, result.eq))


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
    """The quotes of the smallest and of the largest amount that pass before and after."""
    if was.small is None or was.large is None or will.small is None or will.large is None:
        return ()
    if _decimals(before) != _decimals(after):
        return ()
    low, high = max(was.small.amt, will.small.amt), min(was.large.amt, will.large.amt)
    pairs = ((quote_at(before, amt), quote_at(after, amt)) for amt in dict.fromkeys((low, high)))
    return tuple((old, new) for old, new in pairs if old is not None and new is not None)


def _decimals(inputs: EstimateInputs) -> tuple[int, int] | None:
    src, dst = inputs.src_token, inputs.dst_token
    return None if src is None or dst is None else (src.decimals, dst.decimals)


def _with(inputs: EstimateInputs, amt: int) -> EstimateInputs:
    return replace(inputs, request=replace(inputs.request, amt=amt))
