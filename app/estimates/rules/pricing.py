"""From inputs to numbers: the terms that apply to a transfer, and the results of an amount on these terms."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from operator import attrgetter
from typing import Final, Protocol

from msgspec import Struct

from app.estimates.rules.inputs import EstimateInputs
from app.network.rules.pools import PoolState
from app.network.rules.terms import ChainTerms, FeeTier, FixedRate, StableSwapRate, TokenTerms
from app.values.amounts import PPM, mul_div_down, mul_div_up, ppm_up, scale_down, scale_factors
from app.values.codes import BridgeType

POOLS: Final = 2
MAX_STEPS: Final = 255
CURVE_DECIMALS: Final = 18


class CurveUnsettled(ArithmeticError):
    """Newton's iteration did not come to within 1 in ``MAX_STEPS`` steps, or has no next step."""


def invariant(x: int, y: int, amplification: int) -> int:
    """``D`` of two balances, both over 0, by Newton's iteration from their sum.

    The step: ``D' = (Ann * S + 2 * P) * D / ((Ann - 1) * D + 3 * P)`` with ``P = D^3 / (4 * x * y)``,
    both divisions rounded down. Raises ``CurveUnsettled``.
    """
    if x <= 0 or y <= 0 or amplification <= 0:
        raise CurveUnsettled("a curve needs two balances and an amplification over 0")
    ann = amplification * POOLS
    total = x + y
    product_divisor = POOLS * POOLS * x * y
    d = total
    for _ in range(MAX_STEPS):
        product = d * d * d // product_divisor
        divisor = (ann - 1) * d + (POOLS + 1) * product
        if divisor <= 0:
            raise CurveUnsettled("the invariant's iteration has no next step")
        previous = d
        d = (ann * total + POOLS * product) * d // divisor
        if -1 <= d - previous <= 1:
            return d
    raise CurveUnsettled(f"the invariant did not settle in {MAX_STEPS} steps")


def balance_for(x: int, d: int, amplification: int) -> int:
    """The balance that goes with ``x`` on the curve of invariant ``d``, by Newton's iteration from ``d``.

    It solves ``y^2 + (b - D) * y = c`` with ``b = x + D / Ann`` and ``c = D^3 / (4 * x * Ann)``,
    every division rounded down. Raises ``CurveUnsettled``.
    """
    if x <= 0 or d <= 0 or amplification <= 0:
        raise CurveUnsettled("a curve needs a balance, an invariant and an amplification over 0")
    ann = amplification * POOLS
    c = d * d * d // (POOLS * POOLS * x * ann)
    b = x + d // ann
    y = d
    for _ in range(MAX_STEPS):
        divisor = 2 * y + b - d
        if divisor <= 0:
            raise CurveUnsettled("the balance's iteration has no next step")
        previous = y
        y = (y * y + c) // divisor
        if -1 <= y - previous <= 1:
            return y
    raise CurveUnsettled(f"the balance did not settle in {MAX_STEPS} steps")


def swap_output(x: int, y: int, d: int, amplification: int, dx: int) -> int:
    """The amount that leaves pool ``y`` when ``dx`` enters pool ``x``: ``y - y' - 1``, at least 0.

    The 1 stays in the pool, so that no caller gains from the rounding of the iteration.
    """
    return max(0, y - balance_for(x + dx, d, amplification) - 1)


PEGGED_RATE: Final = FixedRate(Fraction(1), "1")

_from_amount = attrgetter("from_amount")


class Pools(Struct, frozen=True):
    src: PoolState
    dst: PoolState


class TransferTerms(Struct, frozen=True):
    """The terms of one transfer: its way and its price. ``pools`` is None when pegged.

    An amount in source units is ``amount * up / down`` in destination units. ``tolerance`` is in
    parts per million, 0 for pegged transfers, which ignore it. Without ``fees_known`` the fees are 0
    without tiers, and must not be calculated with.
    """

    bridge_type: BridgeType
    src_chain: ChainTerms
    dst_chain: ChainTerms
    src_token: TokenTerms
    dst_token: TokenTerms
    rate: FixedRate | StableSwapRate
    base_fee: int
    tiers: tuple[FeeTier, ...]
    pools: Pools | None
    up: int
    down: int
    tolerance: int
    fees_known: bool = True


def wants_pegged(inputs: EstimateInputs) -> bool:
    return is_pegged(
        inputs.request.is_pegged, joined=inputs.pegged is not None, routed=inputs.route is not None
    )


def is_pegged(requested: bool | None, *, joined: bool, routed: bool) -> bool:
    """Whether the transfer is a pegged one (docs/interface/estimates.md#pegged).

    It is as requested (``requested``), with two exceptions: a request that says nothing is pegged where a
    pair joins the two chains, and a request for the pools is pegged where there is only a pair, and no route.
    """
    if requested is None:
        return joined
    return requested or (joined and not routed)


def transfer_terms(inputs: EstimateInputs) -> TransferTerms | None:
    """The terms that apply; None where a chain, a token, the route or the pair is missing."""
    src_token, dst_token = inputs.src_token, inputs.dst_token
    src_chain, dst_chain = inputs.src_chain, inputs.dst_chain
    if src_chain is None or dst_chain is None or src_token is None or dst_token is None:
        return None
    pools: Pools | None = None
    base_fee: int | None
    tiers: tuple[FeeTier, ...] | None
    rate: FixedRate | StableSwapRate = PEGGED_RATE
    if wants_pegged(inputs):
        pair = inputs.pegged
        if pair is None:
            return None
        bridge_type, tolerance = pair.bridge_type, 0
        src_token, dst_token = pair.src_token or src_token, pair.dst_token or dst_token
        base_fee, tiers = pair.base_fee, pair.tiers
    else:
        route, src_pool, dst_pool = inputs.route, inputs.src_pool, inputs.dst_pool
        if route is None or src_pool is None or dst_pool is None:
            return None
        bridge_type, rate, tolerance = BridgeType.POOL, route.rate, inputs.request.slippage_tolerance
        base_fee = None if route.base_fee is None else route.base_fee.amount
        tiers, pools = route.tiers, Pools(src_pool, dst_pool)
    up, down = scale_factors(src_token.decimals, dst_token.decimals)
    return TransferTerms(
        bridge_type=bridge_type,
        src_chain=src_chain,
        dst_chain=dst_chain,
        src_token=src_token,
        dst_token=dst_token,
        rate=rate,
        base_fee=base_fee or 0,
        tiers=tiers or (),
        pools=pools,
        up=up,
        down=down,
        tolerance=tolerance,
        fees_known=base_fee is not None and tiers is not None,
    )


class Price(Protocol):
    """What an amount is worth at the destination, before fees; more for a larger amount, or equal."""

    def eq_down(self, amt: int) -> int:
        """``eq_value_token_amt`` of ``amt``, rounded down."""
        ...

    def bridge_rate(self, amt: int, eq: int) -> Fraction:
        """The rate that ``amt`` gets, exactly."""
        ...

    def least_amt(self, eq: int, low: int, high: int) -> int | None:
        """The smallest amount from ``low`` to ``high`` that is worth ``eq`` or more."""
        ...


class FixedPrice(Struct, frozen=True):
    """A fixed rate: ``eq = amt * numerator / denominator``, scale and rate in one fraction."""

    rate: Fraction
    numerator: int
    denominator: int

    def eq_down(self, amt: int) -> int:
        return mul_div_down(amt, self.numerator, self.denominator)

    def bridge_rate(self, amt: int, eq: int) -> Fraction:
        return self.rate

    def least_amt(self, eq: int, low: int, high: int) -> int | None:
        if self.numerator <= 0:
            return low if eq <= 0 and low <= high else None
        least = max(low, mul_div_up(eq, self.denominator, self.numerator))
        return least if least <= high else None


class CurvePrice(Struct, frozen=True):
    """A StableSwap price: balances ``x``, ``y`` and invariant ``d`` in units of 18 decimals."""

    amplification: int
    x: int
    y: int
    d: int
    src_decimals: int
    dst_decimals: int

    def eq_down(self, amt: int) -> int:
        """As in the protocol. Raises ``CurveUnsettled``."""
        dx = scale_down(amt, self.src_decimals, CURVE_DECIMALS)
        output = swap_output(self.x, self.y, self.d, self.amplification, dx)
        return scale_down(output, CURVE_DECIMALS, self.dst_decimals)

    def bridge_rate(self, amt: int, eq: int) -> Fraction:
        up, down = scale_factors(self.src_decimals, self.dst_decimals)
        return Fraction(eq * down, amt * up)

    def least_amt(self, eq: int, low: int, high: int) -> int | None:
        """As in the protocol, by doubling steps from ``low``, then bisection. Raises ``CurveUnsettled``."""
        if low > high or self.eq_down(high) < eq:
            return None
        step = 1
        while low + step < high and self.eq_down(low + step) < eq:
            low += step
            step *= 2
        high = min(high, low + step)
        while low < high:
            halfway = (low + high) // 2
            if self.eq_down(halfway) >= eq:
                high = halfway
            else:
                low = halfway + 1
        return low


_cached_invariant = lru_cache(maxsize=1024)(invariant)
"""Calculated once for the balances of two pools, for all amounts."""


def price_of(transfer: TransferTerms) -> Price | None:
    """The price on these terms, or ``None`` for a curve with an empty side. Raises ``CurveUnsettled``."""
    rate = transfer.rate
    if isinstance(rate, FixedRate):
        value = rate.value
        return FixedPrice(value, transfer.up * value.numerator, transfer.down * value.denominator)
    if transfer.pools is None:
        return None
    src_decimals, dst_decimals = transfer.src_token.decimals, transfer.dst_token.decimals
    x = scale_down(transfer.pools.src.balance, src_decimals, CURVE_DECIMALS)
    y = scale_down(transfer.pools.dst.balance, dst_decimals, CURVE_DECIMALS)
    if x == 0 or y == 0:
        return None
    d = _cached_invariant(x, y, rate.amplification)
    return CurvePrice(rate.amplification, x, y, d, src_decimals, dst_decimals)


class Calculation(Struct, frozen=True):
    """The results of an amount, in destination units, before any limit is checked.

    ``minimum_ppm``: the estimated minimum destination amount times 1,000,000, an exact integer.
    ``slippage_down``: the slippage that it implies, in parts per million, rounded down. The larger of it and
    ``minimal_max_slippage`` is ``max_slippage`` (docs/interface/estimates.md#max-slippage). Both are 0 when
    pegged.
    """

    amt: int
    eq: int
    tier: FeeTier | None
    perc_fee: int
    base_fee: int
    receive: int
    minimum_ppm: int
    slippage_down: int
    max_slippage: int


def tier_at(tiers: tuple[FeeTier, ...], amt: int) -> FeeTier | None:
    """The tier of an amount: the one with the greatest ``from_amount`` that is not over it."""
    at = bisect_right(tiers, amt, key=_from_amount)
    return tiers[at - 1] if at else None


def minimum_times_ppm(eq: int, fees: int, tolerance: int) -> int:
    """The minimum destination amount times 1e6: ``(eq * (1 - tolerance / 1e6) - fees) * 1e6``."""
    return eq * (PPM - tolerance) - fees * PPM


def calculate(transfer: TransferTerms, price: Price, amt: int) -> Calculation:
    """Calculate with an amount over 0 (docs/interface/estimates.md#estimate-arithmetic). Raises
    ``CurveUnsettled``.
    """
    eq = price.eq_down(amt)
    tier = tier_at(transfer.tiers, amt)
    perc_fee = ppm_up(eq, tier.ppm) if tier is not None else 0
    fees = perc_fee + transfer.base_fee
    minimum_ppm = slippage_down = max_slippage = 0
    if transfer.pools is not None:
        minimum_ppm = minimum_times_ppm(eq, fees, transfer.tolerance)
        sent = amt * transfer.up
        # Not negative in any answer, so rounding down cuts it to an integer.
        slippage_down = (PPM * sent - minimum_ppm * transfer.down) // sent
        max_slippage = max(slippage_down, transfer.src_chain.minimal_max_slippage)
    return Calculation(
        amt, eq, tier, perc_fee, transfer.base_fee, eq - fees, minimum_ppm, slippage_down, max_slippage
    )


class Priced(Struct, frozen=True):
    """A request with the terms that apply to it, its price, and the results of its amount.

    Without ``transfer`` a chain, a token, the route or the pair is missing. Without ``price`` fees are not
    known or one side of the curve is empty; without ``result`` the amount is not over 0 either. Where the
    curve is not ``settled`` it gives no price for the balances, or no result for the amount.
    """

    inputs: EstimateInputs
    transfer: TransferTerms | None = None
    price: Price | None = None
    result: Calculation | None = None
    settled: bool = True


def price_transfer(inputs: EstimateInputs) -> Priced:
    """The terms, price and numbers of a request, as far as there are any. Raises nothing."""
    transfer = transfer_terms(inputs)
    price: Price | None = None
    if transfer is None or not transfer.fees_known:
        return Priced(inputs, transfer)
    try:
        price = price_of(transfer)
        if price is None or inputs.request.amt <= 0:
            return Priced(inputs, transfer, price)
        return Priced(inputs, transfer, price, calculate(transfer, price, inputs.request.amt))
    except CurveUnsettled:
        return Priced(inputs, transfer, price, settled=False)
