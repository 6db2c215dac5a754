"""The estimate written a second time, straight from the rules, with ``Fraction`` and no hurry.

It shares the input dataclasses and the codes with the gateway and not a line of arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import TypeVar

from app.estimates.rules.inputs import EstimateInputs
from app.network.rules.pools import PoolState
from app.network.rules.terms import FeeTier, FixedRate, RouteBlock
from app.values.codes import ErrCode, Reason

UINT256 = 2**256 - 1
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    eq: int
    rate: Fraction
    perc: int
    base: int
    receive: int
    max_slippage: int


@dataclass(frozen=True)
class Refused:
    code: int
    reason: Reason


class Unsettled(Exception):
    pass


def known(value: T | None) -> T:
    """The value, which is known where this is called."""
    assert value is not None
    return value


# --- the second integer iteration: any number of coins, balances as a list -------------------------------


def curve_d(balances: list[int], amp: int) -> int:
    """Iterate ``D' = (A n S + n P) D / ((A n - 1) D + (n + 1) P)``, ``P = D^(n+1) / (n^n prod x)``."""
    if amp < 1:
        raise Unsettled
    n = len(balances)
    ann, guesses = amp * n, [sum(balances)]
    while len(guesses) <= 255:
        d = guesses[-1]
        p = math.floor(Fraction(d ** (n + 1), n**n * math.prod(balances)))
        guesses.append(math.floor(Fraction((ann * sum(balances) + n * p) * d, (ann - 1) * d + (n + 1) * p)))
        if -2 < guesses[-1] - d < 2:
            return guesses[-1]
    raise Unsettled


def curve_y(others: list[int], d: int, amp: int) -> int:
    """Iterate ``y' = (y^2 + c) / (2 y + b - D)``, ``b = S' + D / An``, ``c = D^(n+1) / (n^n prod x' An)``."""
    n = len(others) + 1
    ann, guesses = amp * n, [d]
    c = math.floor(Fraction(d ** (n + 1), n**n * math.prod(others) * ann))
    b = sum(others) + d // ann
    while len(guesses) <= 255:
        y = guesses[-1]
        if 2 * y + b - d <= 0:
            raise Unsettled
        guesses.append(math.floor(Fraction(y**2 + c, 2 * y + b - d)))
        if -2 < guesses[-1] - y < 2:
            return guesses[-1]
    raise Unsettled


def curve_eq(inputs: EstimateInputs, amp: int) -> int | None:
    """``eq_value_token_amt`` on the curve, ``None`` with an empty side."""
    src, dst = known(inputs.src_token), known(inputs.dst_token)
    x = math.floor(Fraction(balance_of(known(inputs.src_pool))) * Fraction(10) ** (18 - src.decimals))
    y = math.floor(Fraction(balance_of(known(inputs.dst_pool))) * Fraction(10) ** (18 - dst.decimals))
    dx = math.floor(Fraction(inputs.request.amt) * Fraction(10) ** (18 - src.decimals))
    if x == 0 or y == 0:
        return None
    d = curve_d([x, y], amp)
    out = y - curve_y([x + dx], d, amp) - 1
    return math.floor(max(out, 0) * Fraction(10) ** (dst.decimals - 18))


# --- the rules --------------------------------------------------------------------------------------------


def balance_of(pool: PoolState) -> int:
    moved = pool.counters
    return max(0, moved.added + moved.sent - moved.relayed - moved.withdrawn)


def ppm_of(tiers: tuple[FeeTier, ...], amt: int) -> int:
    ppm = 0
    for tier in tiers:
        if tier.from_amount <= amt:
            ppm = tier.ppm
    return ppm


def common(reason: Reason) -> Refused:
    return Refused(ErrCode.ERROR_CODE_COMMON, reason)


def by_pair(inputs: EstimateInputs) -> bool:
    """Requested, or left open where there is a pair, or the pools requested where there is only a pair."""
    there = inputs.pegged is not None
    return {True: True, None: there, False: there and inputs.route is None}[inputs.request.is_pegged]


def gates(inputs: EstimateInputs) -> Refused | None:
    """Checks 2 to 8."""
    request = inputs.request
    pegged = by_pair(inputs)
    src, dst = inputs.src_token, inputs.dst_token
    chains = [inputs.src_chain, inputs.dst_chain]
    if inputs.caller_blocked:
        return Refused(1018, Reason.NETWORK_BLOCKED)
    if inputs.address_blocked:
        return Refused(1015, Reason.ADDRESS_BLOCKED)
    if request.src_chain_id == request.dst_chain_id:
        return common(Reason.SAME_CHAIN)
    if None in chains:
        return common(Reason.CHAIN_UNKNOWN)
    if any(known(chain).disabled for chain in chains):
        return common(Reason.CHAIN_DISABLED)
    if src is None:
        return Refused(1002, Reason.TOKEN_NOT_ON_SRC)
    if dst is None:
        return Refused(1001, Reason.TOKEN_NOT_ON_DST)
    if pegged and inputs.pegged is None:
        return Refused(1001, Reason.NO_PEGGED_PAIR)
    if not pegged and inputs.route is None:
        return Refused(1001, Reason.NO_ROUTE)
    if src.xfer_disabled or dst.xfer_disabled or inputs.block is RouteBlock.BOTH:
        return Refused(1009, Reason.TRANSFER_DISABLED)
    if inputs.block is RouteBlock.ONE_WAY:
        return Refused(1016, Reason.DIRECTION_BLOCKED)
    if request.amt == 0:
        return common(Reason.AMOUNT_ZERO)
    if not pegged:
        if not 1 <= request.slippage_tolerance <= 999_999:
            return Refused(1012, Reason.BAD_SLIPPAGE_TOLERANCE)
        route = known(inputs.route)
        allowed, since = route.base_fee_max_age_seconds, known(route.base_fee).since
        if allowed is not None and (since is None or inputs.now - since > timedelta(seconds=allowed)):
            return common(Reason.FEE_STALE)
    return None


def expected(inputs: EstimateInputs) -> Answer | Refused:
    refused = gates(inputs)
    if refused is not None:
        return refused
    request = inputs.request
    amt = request.amt
    pegged = by_pair(inputs)
    scaled = Fraction(amt) * Fraction(10) ** (
        known(inputs.dst_token).decimals - known(inputs.src_token).decimals
    )
    if pegged:
        return _answer(inputs, scaled, math.floor(scaled), Fraction(1), pool=False)
    pool = known(inputs.src_pool)
    if amt > max(0, pool.counters.added - pool.counters.relayed - pool.counters.withdrawn):
        return Refused(1005, Reason.INBOUND_LIMIT)
    if pool.epoch_cap is not None and pool.epoch_volume + amt > pool.epoch_cap:
        return Refused(1005, Reason.EPOCH_CAP)
    if pool.total_cap is not None and balance_of(pool) + amt > pool.total_cap:
        return Refused(1017, Reason.TOTAL_CAP)
    rate = known(inputs.route).rate
    if isinstance(rate, FixedRate):
        return _answer(inputs, scaled, math.floor(scaled * rate.value), rate.value, pool=True)
    try:
        eq = curve_eq(inputs, rate.amplification)
    except Unsettled:
        return common(Reason.CURVE_UNSETTLED)
    if eq is None:
        return Refused(1004, Reason.NOT_ENOUGH_LIQUIDITY)
    return _answer(inputs, scaled, eq, Fraction(eq) / scaled, pool=True)


def _answer(
    inputs: EstimateInputs, scaled: Fraction, eq: int, rate: Fraction, *, pool: bool
) -> Answer | Refused:
    if pool:
        base, tiers = known(known(inputs.route).base_fee).amount, known(inputs.route).tiers
    else:
        base, tiers = known(known(inputs.pegged).base_fee), known(inputs.pegged).tiers
    perc = math.ceil(Fraction(eq) * ppm_of(known(tiers), inputs.request.amt) / 1_000_000)
    receive = eq - perc - base
    is_fixed = pool and isinstance(known(inputs.route).rate, FixedRate)
    if is_fixed and balance_of(known(inputs.dst_pool)) < receive:
        return Refused(1004, Reason.NOT_ENOUGH_LIQUIDITY)
    if receive <= 0:
        return common(Reason.AMOUNT_TOO_SMALL)
    if eq > UINT256:
        return common(Reason.AMOUNT_TOO_LARGE)
    slippage = 0
    if pool:
        tolerance_rate = Fraction(inputs.request.slippage_tolerance, 1_000_000)
        minimum = eq * (1 - tolerance_rate) - base - perc
        needed = math.trunc((1 - minimum / scaled) * 1_000_000)
        slippage = max(needed, known(inputs.src_chain).minimal_max_slippage)
        if slippage >= 1_000_000:
            return Refused(1012, Reason.SLIPPAGE_TOO_HIGH)
    return Answer(eq, rate, perc, base, receive, slippage)
