"""Generated and ready-made inputs for the tests of the estimate."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from app.estimates.rules.checks import estimate
from app.estimates.rules.inputs import EstimateInputs, EstimateRequest
from app.estimates.rules.refusals import EstimateRefused
from app.network.rules.pools import PoolCounters, PoolState
from app.network.rules.terms import (
    BaseFee,
    ChainTerms,
    FeeTier,
    FixedRate,
    PeggedTerms,
    RouteBlock,
    RouteTerms,
    StableSwapRate,
    TokenTerms,
)
from app.values.codes import BridgeType
from app.values.identifiers import ChainId
from tests.amounts import few_or_many
from tests.estimates.rules.oracle import known

NOW = datetime(2026, 3, 4, 5, 6, 7, 890, tzinfo=UTC)
UINT256 = 2**256 - 1
TOKEN = 10**6
ETHEREUM, BNB_CHAIN = ChainId(1), ChainId(56)
Case = TypeVar("Case")


def pool_with(added: int = 0, sent: int = 0, relayed: int = 0, withdrawn: int = 0, **caps: Any) -> PoolState:
    """A pool of these counters and caps."""
    return PoolState(PoolCounters(added, sent, relayed, withdrawn), **caps)


def usdt(**changes: Any) -> EstimateInputs:
    """USDT from chain 1 (6 decimals) to 56 (18 decimals) at a fixed rate: 1 USDT comes to 0.39 after fees."""
    inputs = EstimateInputs(
        request=EstimateRequest(ETHEREUM, BNB_CHAIN, "USDT", 10 * TOKEN, 3000),
        now=NOW,
        src_chain=ChainTerms(ETHEREUM, "Ethereum", minimal_max_slippage=780),
        dst_chain=ChainTerms(BNB_CHAIN, "BNB Chain", drop_gas_amt=7),
        src_token=TokenTerms("USDT", 6),
        dst_token=TokenTerms("USDT", 18),
        route=RouteTerms(
            FixedRate.parse("1"),
            BaseFee(605437528092011966),
            None,
            (FeeTier(0, 400), FeeTier(1_000_000 * TOKEN, 300)),
        ),
        src_pool=pool_with(added=5_000_000 * TOKEN, total_cap=9_000_000 * TOKEN),
        dst_pool=pool_with(added=5_000_000 * 10**18),
        symbol_chains=("Ethereum", "BNB Chain", "Polygon"),
        open_destinations=("BNB Chain", "Polygon"),
    )
    return replace(inputs, **changes)


def with_request(inputs: EstimateInputs, **changes: Any) -> EstimateInputs:
    """The same inputs with another request."""
    return replace(inputs, request=replace(inputs.request, **changes))


def on_curve(**changes: Any) -> EstimateInputs:
    """The same transfer priced by a StableSwap curve."""
    inputs = usdt()
    return replace(inputs, route=replace(known(inputs.route), rate=StableSwapRate(200)), **changes)


def pegged(bridge_type: BridgeType = BridgeType.DEPOSIT_MINT, **changes: Any) -> EstimateInputs:
    """A pegged transfer of the same token, with no route."""
    terms = PeggedTerms(bridge_type, 10**15, (FeeTier(0, 500),))
    return usdt(route=None, src_pool=None, dst_pool=None, pegged=terms, **changes)


def refusal(inputs: EstimateInputs) -> EstimateRefused | None:
    """The refusal of a request, None where it is answered."""
    try:
        estimate(inputs)
    except EstimateRefused as refused:
        return refused
    return None


def refused(inputs: EstimateInputs) -> EstimateRefused:
    return known(refusal(inputs))


# Each case is made from one seed: the ten to forty draws that Hypothesis would make and store for a case cost
# several times the test itself.


def for_seeds(
    many: int, make: Callable[[int], Case]
) -> Callable[[Callable[[Case], None]], Callable[[int], None]]:
    """Run a test for so many seeds, or for an eighth of them. They are always the same ones of its own.

    A failure names its seed. For tests that draw nothing else: Hypothesis cannot shrink what is made of a
    seed, and takes ten times as long to choose the seeds as the test takes.
    """

    def decorate(test: Callable[[Case], None]) -> Callable[[int], None]:
        @pytest.mark.parametrize("count", few_or_many(many // 8, many))
        def run(count: int) -> None:
            seeds = random.Random(test.__name__)
            for _ in range(count):
                seed = seeds.getrandbits(64)
                try:
                    test(make(seed))
                except Exception as error:
                    error.add_note(f"seed {seed}")
                    raise

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


def sized(rng: random.Random, bits: int, least: int = 0) -> int:
    """An integer of any size up to so many bits, not only of the largest; at times the bound itself."""
    drawn = 2**bits - 1 if rng.random() < 0.05 else rng.getrandbits(bits)
    return max(least, drawn >> rng.randrange(bits + 1))


def between(rng: random.Random, low: int, high: int) -> int:
    """An integer from ``low`` to ``high``; both bounds come more often than by chance."""
    return rng.choice((low, high)) if rng.random() < 0.1 else rng.randint(low, high)


DECIMALS = (0, 6, 6, 8, 18, 18, 24, 36)
MINIMA = (0, 1, 780, 780, 608_436, 608_436, 999_999, 1_000_000)
SEEDS = st.integers(0, 2**64 - 1)


def some_tolerance(rng: random.Random) -> int:
    if rng.random() < 0.5:
        return between(rng, 1, 999_999)
    return rng.choice((1, 3000, 999_999, 979_999, 980_000))


def plausible(*, curve: bool) -> st.SearchStrategy[EstimateInputs]:
    """Inputs that look like a real network's, so that most of them come to an estimate."""
    return SEEDS.map(partial(plausible_inputs, curve))


def plausible_inputs(curve: bool, seed: int) -> EstimateInputs:
    """The plausible inputs of a seed.

    Sizes hang together: pools of 1 to 10^12 tokens, amounts up to the source pool, fees up to the amount.
    """
    rng = random.Random(seed)
    src_decimals, dst_decimals = rng.choice(DECIMALS), rng.choice(DECIMALS)
    src_balance = between(rng, 1, 10**12) * 10**src_decimals
    dst_balance = between(rng, 1, 10**12) * 10**dst_decimals
    amt = max(1, src_balance * between(rng, 1, 10**7) // 10 ** rng.randint(7, 14))
    worth = Fraction(amt) * Fraction(10) ** (dst_decimals - src_decimals)
    base_fee = int(worth * rng.choice((0, 1, 10, 10, 100, 500, 900, 1100)) / 1000)
    caps = (None, None, None, src_balance + amt, src_balance + amt, src_balance + amt - 1)
    rate = (
        StableSwapRate(between(rng, 1, 5000))
        if curve
        else FixedRate(Fraction(between(rng, 500_000, 1_500_000), 1_000_000), "")
    )
    steps = [between(rng, 0, 20_000) for _ in range(rng.randrange(4))]
    return EstimateInputs(
        request=EstimateRequest(
            ETHEREUM, BNB_CHAIN, "USDT", amt, some_tolerance(rng), rng.choice((None, False))
        ),
        now=NOW,
        src_chain=ChainTerms(ETHEREUM, "Ethereum", minimal_max_slippage=rng.choice(MINIMA)),
        dst_chain=ChainTerms(BNB_CHAIN, "BNB Chain"),
        src_token=TokenTerms("USDT", src_decimals),
        dst_token=TokenTerms("USDT", dst_decimals),
        route=RouteTerms(
            rate,
            BaseFee(base_fee),
            tiers=tuple(FeeTier(src_balance * i // 7, ppm) for i, ppm in enumerate(steps)),
        ),
        src_pool=pool_with(added=src_balance, total_cap=rng.choice(caps), epoch_cap=rng.choice(caps)),
        dst_pool=pool_with(added=dst_balance),
    )


def any_plausible(seed: int) -> EstimateInputs:
    """A plausible transfer at a fixed rate, on a curve or pegged."""
    return (partial(plausible_inputs, False), partial(plausible_inputs, True), pegged_inputs)[seed % 3](seed)


FLAWS = (
    "caller_blocked", "address_blocked", "same_chain", "src_unknown", "dst_unknown", "src_disabled",
    "dst_disabled", "no_src_token", "no_dst_token", "no_route", "want_pegged", "src_token_disabled",
    "dst_token_disabled", "one_way", "both", "amt_0", "tolerance", "fee_age", "pegged",
)  # fmt: skip


def wild_inputs(seed: int) -> EstimateInputs:
    """Anything that the types allow: any decimals, any uint256, balances far beyond it or under zero.

    About half have no flaw before their amount is looked at.
    """
    rng = random.Random(seed)

    def size(bits: int, least: int = 0) -> int:
        return max(least, rng.getrandbits(bits) >> rng.randrange(bits + 1))

    flaws = rng.sample(FLAWS, rng.choice((0, 0, 0, 1, 1, 2, 3)))
    deep = rng.choice((20, 90, 256, 400))

    def cap() -> int | None:
        return rng.choice((None, None, None, size(deep + 8)))

    def pool() -> PoolState:
        counters = PoolCounters(rng.getrandbits(deep), size(deep), size(deep - 8), size(deep - 12))
        return PoolState(counters, cap(), cap(), size(deep - 8))

    def token(side: str) -> TokenTerms | None:
        if f"no_{side}_token" in flaws:
            return None
        return TokenTerms("USDT", rng.choice((6, 18, rng.randrange(37))), f"{side}_token_disabled" in flaws)

    def tiers() -> tuple[FeeTier, ...]:
        starts = sorted({0, *(size(256) for _ in range(rng.randrange(3)))})
        return tuple(FeeTier(start, rng.randrange(20_001)) for start in starts[rng.randrange(2) :])

    stale = "fee_age" in flaws
    since = NOW - timedelta(seconds=rng.choice((-60, 0, 3599, 3600, 3601))) if rng.random() < 0.8 else None
    fixed = FixedRate(Fraction(size(40), 10 ** rng.randrange(18)), "")
    fee = BaseFee(rng.choice((0, size(64), size(256))), since)
    rate = rng.choice((fixed, StableSwapRate(size(20))))
    tolerance = rng.choice((1, 999_999, rng.randrange(1, 1_000_000), rng.randrange(1, 1_000_000)))
    return EstimateInputs(
        request=EstimateRequest(
            BNB_CHAIN if "same_chain" in flaws else ETHEREUM,
            BNB_CHAIN,
            "USDT",
            0 if "amt_0" in flaws else size(min(deep, 256), least=1),
            rng.choice((0, 10**6, 2**32 - 1)) if "tolerance" in flaws else tolerance,
            True if "want_pegged" in flaws else rng.choice((None, False)),
        ),
        now=NOW,
        caller_blocked="caller_blocked" in flaws,
        address_blocked="address_blocked" in flaws,
        src_chain=None
        if "src_unknown" in flaws
        else ChainTerms(
            ETHEREUM, "Ethereum", "src_disabled" in flaws, rng.choice((0, 780, 608_436, 1_000_000))
        ),
        dst_chain=None
        if "dst_unknown" in flaws
        else ChainTerms(BNB_CHAIN, "BNB Chain", "dst_disabled" in flaws),
        src_token=token("src"),
        dst_token=token("dst"),
        route=None
        if "no_route" in flaws
        else RouteTerms(rate, fee, rng.choice((0, 3600)) if stale else None, tiers()),
        pegged=PeggedTerms(BridgeType.BURN_MINT, size(256), tiers()) if "pegged" in flaws else None,
        block=RouteBlock.BOTH
        if "both" in flaws
        else RouteBlock.ONE_WAY
        if "one_way" in flaws
        else RouteBlock.NONE,
        src_pool=pool(),
        dst_pool=pool(),
    )


def pegged_cases() -> st.SearchStrategy[EstimateInputs]:
    """Pegged transfers with any decimals, amounts and fees."""
    return SEEDS.map(pegged_inputs)


def pegged_inputs(seed: int) -> EstimateInputs:
    """The pegged transfer of a seed."""
    rng = random.Random(seed)
    inputs = pegged(rng.choice((BridgeType.DEPOSIT_MINT, BridgeType.BURN_WITHDRAW)))
    starts = sorted({sized(rng, 256) for _ in range(rng.randrange(4))})
    return replace(
        inputs,
        request=replace(
            inputs.request,
            amt=sized(rng, 256, least=1),
            slippage_tolerance=between(rng, 0, rng.choice((10**6, 2**32 - 1))),
            is_pegged=rng.choice((None, True)),
        ),
        src_token=TokenTerms("USDT", rng.choice(DECIMALS)),
        dst_token=TokenTerms("USDT", rng.choice(DECIMALS)),
        pegged=replace(
            known(inputs.pegged),
            base_fee=rng.choice((0, sized(rng, 20), sized(rng, 200))),
            tiers=tuple(
                FeeTier(start if i else 0, between(rng, 0, 20_000)) for i, start in enumerate(starts)
            ),
        ),
    )
