"""What a refusal names as passing does pass, and one smallest unit beyond it does not."""

from __future__ import annotations

import random
import re
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from app.estimates.rules import checks
from app.estimates.rules.inputs import EstimateInputs, EstimateRequest
from app.estimates.rules.passing import Advice
from app.estimates.rules.refusals import Check, EstimateRefused
from app.network.rules.terms import (
    BaseFee,
    ChainTerms,
    FeeTier,
    FixedRate,
    RouteBlock,
    RouteTerms,
    StableSwapRate,
    TokenTerms,
)
from app.values.codes import Reason
from tests.estimates.rules.estimate_cases import (
    BNB_CHAIN,
    ETHEREUM,
    NOW,
    TOKEN,
    any_plausible,
    for_seeds,
    on_curve,
    pegged,
    pool_with,
    refusal,
    refused,
    usdt,
    wild_inputs,
    with_request,
)
from tests.estimates.rules.oracle import known

UINT256 = 2**256 - 1
UPPER = {Check.INBOUND_LIMIT, Check.EPOCH_CAP, Check.TOTAL_CAP, Check.DST_BALANCE, Check.RESULT_SIZE}
LOWER = {Check.FEES, Check.MAX_SLIPPAGE}


def passes(inputs: EstimateInputs, amt: int, **changes: Any) -> bool:
    return refusal(with_request(inputs, amt=amt, **changes)) is None


def no_advice() -> AbstractContextManager[Any]:
    """Refusals give no advice meanwhile: to look for an amount that passes takes longer than the checks."""

    return patch.multiple(checks, advise=lambda *_, **__: Advice(), nothing_passes=lambda *_: "")


def promised(msg: str, words: str, decimals: int) -> int | None:
    """The amount (smallest units) that a message names after some words."""
    found = re.search(rf"{words} ([0-9.]+) USDT", msg)
    if found is None:
        return None
    amt = Fraction(found[1]) * 10**decimals
    assert amt.denominator == 1
    return int(amt)


def assert_promises_hold(inputs: EstimateInputs, got: EstimateRefused) -> None:
    """Hold every number of a refusal against the estimate itself."""
    amt, decimals = inputs.request.amt, known(inputs.src_token).decimals
    below, above = got.largest_passing_amt, got.smallest_passing_amt
    if below is not None:
        assert below < amt
        assert passes(inputs, below)
        assert below + 1 == amt or not passes(inputs, below + 1)
    if above is not None:
        assert above > amt
        assert passes(inputs, above)
        assert above - 1 == amt or not passes(inputs, above - 1)
    if got.largest_passing_tolerance is not None:
        assert passes(inputs, amt, slippage_tolerance=got.largest_passing_tolerance)
        assert not passes(inputs, amt, slippage_tolerance=got.largest_passing_tolerance + 1)
        assert str(got.largest_passing_tolerance) in got.msg
    if "No amount" not in got.msg:
        up_to, at_least = promised(got.msg, "up to", decimals), promised(got.msg, "at least", decimals)
        assert up_to in (None, below)
        assert at_least in (None, above)
        assert up_to or at_least or got.largest_passing_tolerance
        if got.check in UPPER:
            assert up_to == below or below is None
    else:
        assert below is None and above is None
        lower = re.search(r"with (\d+) or less you can transfer ([0-9.]+) USDT", got.msg)
        if lower is not None:
            less = int(Fraction(lower[2]) * 10**decimals)
            assert passes(inputs, less, slippage_tolerance=int(lower[1]))


@for_seeds(1500, any_plausible)
def test_amounts_of_refusals_pass(inputs):
    got = refusal(inputs)
    if got is not None and got.check in UPPER | LOWER:
        assert_promises_hold(inputs, got)


@for_seeds(1500, wild_inputs)
def test_amounts_of_any_refusal_pass(inputs):
    got = refusal(inputs)
    if got is not None and got.check in UPPER | LOWER and "pools is empty" not in got.msg:
        assert_promises_hold(inputs, got)


def small_inputs(seed: int) -> EstimateInputs:
    """Numbers so small that every amount can be tried; fees so high that their rounding matters."""
    rng = random.Random(seed)
    starts = sorted({0, *(rng.randrange(1, 150) for _ in range(rng.randrange(3)))})
    ppms = (0, 400, 20_000, 20_000, 150_000, 333_333, 500_000)
    rate: FixedRate | StableSwapRate = FixedRate(Fraction(rng.randrange(1, 40), rng.randrange(1, 20)), "")
    if rng.random() < 0.25:
        rate = StableSwapRate(rng.choice((1, 10, 200)))
    src_decimals, dst_decimals = (
        (18, 18) if isinstance(rate, StableSwapRate) else rng.choice(((0, 0), (0, 1), (1, 0)))
    )
    caps = (None, None, rng.randrange(500))
    tolerances = (1, 3000, 300_000, 600_000, 900_000)
    base_fee = BaseFee(rng.choice((0, 1, 5, rng.randrange(60))))
    src_added = rng.randrange(1, 300)
    return EstimateInputs(
        request=EstimateRequest(ETHEREUM, BNB_CHAIN, "USDT", rng.randrange(1, 200), rng.choice(tolerances)),
        now=NOW,
        src_chain=ChainTerms(ETHEREUM, "A"),
        dst_chain=ChainTerms(BNB_CHAIN, "B"),
        src_token=TokenTerms("USDT", src_decimals),
        dst_token=TokenTerms("USDT", dst_decimals),
        route=RouteTerms(rate, base_fee, tiers=tuple(FeeTier(s, rng.choice(ppms)) for s in starts)),
        src_pool=pool_with(added=src_added, total_cap=rng.choice(caps), epoch_cap=rng.choice(caps)),
        dst_pool=pool_with(added=rng.choice((10**6, rng.randrange(1, 300)))),
    )


@for_seeds(800, small_inputs)
def test_named_amounts_are_nearest_passing(inputs):
    """By trying every amount that the source pool could take."""
    got = refusal(inputs)
    if got is None or "pools is empty" in got.msg or got.check is Check.CURVE:
        return
    amt = inputs.request.amt
    with no_advice():
        passing = [other for other in range(1, 301) if passes(inputs, other)]
    assert got.largest_passing_amt == max((other for other in passing if other < amt), default=None)
    assert got.smallest_passing_amt == min((other for other in passing if other > amt), default=None)
    assert ("No amount" in got.msg) == (not passing and got.largest_passing_tolerance is None)
    if got.check is Check.MAX_SLIPPAGE:
        with no_advice():
            fitting = [t for t in range(1, 10**6, 997) if passes(inputs, amt, slippage_tolerance=t)]
        assert (got.largest_passing_tolerance or 0) >= max(fitting, default=0)


EPOCH = pool_with(added=10**12, epoch_cap=50 * TOKEN, epoch_volume=20 * TOKEN, epoch_seconds=3600)
TIGHT = pool_with(100 * TOKEN, total_cap=150 * TOKEN, epoch_cap=90 * TOKEN, epoch_volume=60 * TOKEN)
WHOLE = ChainTerms(ETHEREUM, "Ethereum", minimal_max_slippage=10**6)
MESSAGES: dict[str, tuple[EstimateInputs, str]] = {
    "over the inbound limit": (
        with_request(usdt(src_pool=pool_with(added=1_234_500_000)), amt=10**10),
        "You can transfer up to 1234.5 USDT at this moment",
    ),
    "over several limits": (  # the tightest: the destination has 20 USDT, and its fees come on top
        with_request(usdt(src_pool=TIGHT, dst_pool=pool_with(added=20 * 10**18)), amt=101 * TOKEN),
        "You can transfer up to 20.613683 USDT at this moment",
    ),
    "over the epoch cap": (
        with_request(usdt(src_pool=EPOCH), amt=31 * TOKEN),
        "You can transfer up to 30 USDT at this moment; the limit resets at 2026-03-04T06:00:00Z",
    ),
    "an epoch without a date": (
        with_request(usdt(src_pool=replace(EPOCH, epoch_seconds=10**30)), amt=31 * TOKEN),
        "You can transfer up to 30 USDT at this moment",
    ),
    "no amount between fees and limit": (
        with_request(usdt(src_pool=pool_with(added=600_000)), amt=700_000),
        "No amount of USDT can be transferred from Ethereum to BNB Chain at this moment: "
        "try again later or choose another destination chain",
    ),
    "fees": (
        with_request(usdt(), amt=605_000),
        "The fees would use up this amount: transfer at least 0.607504 USDT",
    ),
    "slippage too high": (
        with_request(usdt(), amt=TOKEN, slippage_tolerance=500_000),
        "With this slippage_tolerance, nothing of this amount may be received: use a "
        "slippage_tolerance of 394162 or less, or transfer at least 1.211845 USDT",
    ),
    "no amount passes with the tolerance": (
        with_request(usdt(), amt=6 * 10**12, slippage_tolerance=999_999),
        "No amount is possible with a slippage_tolerance of 999999; with 999699 or less "
        "you can transfer 4000000 USDT at this moment",
    ),
    "a chain minimum of 100 %": (
        usdt(src_chain=WHOLE, open_destinations=()),
        "With this slippage_tolerance, nothing of this amount may be received. No amount of USDT can be "
        "transferred from Ethereum to BNB Chain at this moment: try again later",
    ),
    "token not on the source": (
        usdt(src_token=None),
        "USDT is not supported on Ethereum: it can be sent from BNB Chain, Polygon",
    ),
    "token unknown": (
        usdt(src_token=None, dst_token=None, symbol_chains=()),
        "USDT is not supported on Ethereum: choose one of the tokens in /v2/getTransferConfigs",
    ),
    "token not on the destination": (
        usdt(dst_token=None),
        "USDT is not supported on BNB Chain: from Ethereum it can be sent to Polygon",
    ),
    "no route": (
        usdt(route=None),
        "There is no pool route for USDT from Ethereum to BNB Chain: from Ethereum it can be sent to Polygon",
    ),
    "blocked this way": (
        usdt(block=RouteBlock.ONE_WAY, open_destinations=()),
        "Transfers of USDT from Ethereum to BNB Chain are disabled at this moment: "
        "no other destination is available from Ethereum at this moment, try again later",
    ),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_message_names_what_would_pass(case: str) -> None:
    inputs, msg = MESSAGES[case]
    assert refused(inputs).msg == msg


def test_result_beyond_uint256_is_refused() -> None:
    got = refused(with_request(pegged(), amt=UINT256))
    assert got.reason is Reason.AMOUNT_TOO_LARGE
    assert got.largest_passing_amt == UINT256 // 10**12
    assert re.fullmatch(r"You can transfer up to \d+\.\d+ USDT at this moment", got.msg)


def test_long_lists_are_cut() -> None:
    names = tuple(f"Chain {n}" for n in range(11))
    got = refused(usdt(src_token=None, symbol_chains=names))
    assert got.msg.endswith("Chain 6, Chain 7 and 3 more")


@pytest.mark.parametrize("symbol", ["<b>x</b>", "\ud800", "a\x00b", "x" * 33, "", "\u202eUSDT"])
def test_only_harmless_input_is_repeated(symbol: str) -> None:
    inputs = with_request(usdt(src_token=None, dst_token=None), token_symbol=symbol)
    assert refused(inputs).msg.startswith("This token is not supported on Ethereum")


def test_empty_pool_of_a_curve_is_named() -> None:
    assert "one of the two pools is empty" in refused(on_curve(dst_pool=pool_with())).msg
