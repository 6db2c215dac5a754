"""Every refusal by itself, and of any two that could be made the earlier one."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from itertools import combinations

import pytest
from msgspec.structs import replace

from app.estimates.rules.checks import estimate
from app.estimates.rules.inputs import EstimateInputs
from app.estimates.rules.refusals import Check
from app.network.rules.pools import PoolCounters
from app.network.rules.terms import BaseFee, FixedRate, PeggedTerms, RouteBlock
from app.values.codes import BridgeType, ErrCode, Reason
from tests.estimates.rules.estimate_cases import NOW, on_curve, pegged, pool_with, refused, usdt, with_request
from tests.estimates.rules.oracle import known

DEEP = pool_with(added=2**400)


def base() -> EstimateInputs:
    """Passes; the pools are deep enough for a result over 2^256-1."""
    inputs = usdt()
    return replace(inputs, src_pool=DEEP, dst_pool=DEEP)


def chain(side, **changes):
    return lambda i: replace(i, **{f"{side}_chain": replace(getattr(i, f"{side}_chain"), **changes)})


def token(side, **changes):
    name, changes = f"{side}_token", changes or {"xfer_disabled": True}
    return lambda i: replace(i, **{name: getattr(i, name) and replace(getattr(i, name), **changes)})


def route(**changes):
    return lambda i: replace(i, route=i.route and replace(i.route, **changes))


def pool(**changes):
    return lambda i: replace(i, src_pool=replace(i.src_pool, **changes))


def put(**changes):
    return lambda i: replace(i, **changes)


def requesting(**changes):
    return lambda i: with_request(i, **changes)


def unknown_age(inputs):
    if inputs.route is None:
        return inputs
    fee = replace(inputs.route.base_fee, since=None)
    return replace(inputs, route=replace(inputs.route, base_fee=fee, base_fee_max_age_seconds=0))


NO_PRICE_FITS = FixedRate(Fraction(2**256), "")


# In reverse order of docs/interface/estimates.md#estimate-checks: a later flaw here may be added to an
# earlier one.
FLAWS = {
    "slippage": (
        1012,
        Reason.SLIPPAGE_TOO_HIGH,
        Check.MAX_SLIPPAGE,
        chain("src", minimal_max_slippage=10**6),
    ),
    "too_large": (500, Reason.AMOUNT_TOO_LARGE, Check.RESULT_SIZE, route(rate=NO_PRICE_FITS)),
    "fees": (500, Reason.AMOUNT_TOO_SMALL, Check.FEES, route(base_fee=BaseFee(2**600))),
    "dst_balance": (1004, Reason.NOT_ENOUGH_LIQUIDITY, Check.DST_BALANCE, put(dst_pool=pool_with())),
    "total_cap": (1017, Reason.TOTAL_CAP, Check.TOTAL_CAP, pool(total_cap=0)),
    "epoch_cap": (1005, Reason.EPOCH_CAP, Check.EPOCH_CAP, pool(epoch_cap=100, epoch_volume=99)),
    "inbound": (
        1005,
        Reason.INBOUND_LIMIT,
        Check.INBOUND_LIMIT,
        pool(counters=PoolCounters(2**400, relayed=2**400)),
    ),
    "fee_age": (500, Reason.FEE_STALE, Check.BASE_FEE_AGE, unknown_age),
    "fees_unknown": (500, Reason.FEE_STALE, Check.FEES_KNOWN, route(tiers=None)),
    "tolerance": (
        1012,
        Reason.BAD_SLIPPAGE_TOLERANCE,
        Check.SLIPPAGE_TOLERANCE,
        requesting(slippage_tolerance=0),
    ),
    "over_maximum": (500, Reason.AMOUNT_OVER_MAXIMUM, Check.MAX_SEND, token("src", max_send=9)),
    "under_minimum": (500, Reason.AMOUNT_UNDER_MINIMUM, Check.MIN_SEND, token("src", min_send=10**30)),
    "amt_0": (500, Reason.AMOUNT_ZERO, Check.AMOUNT, requesting(amt=0)),
    "one_way": (1016, Reason.DIRECTION_BLOCKED, Check.DIRECTION, put(block=RouteBlock.ONE_WAY)),
    "both_ways": (1009, Reason.TRANSFER_DISABLED, Check.TOKEN_ENABLED, put(block=RouteBlock.BOTH)),
    "dst_token_disabled": (1009, Reason.TRANSFER_DISABLED, Check.TOKEN_ENABLED, token("dst")),
    "src_token_disabled": (1009, Reason.TRANSFER_DISABLED, Check.TOKEN_ENABLED, token("src")),
    "no_route": (1001, Reason.NO_ROUTE, Check.ROUTE, put(route=None)),
    "no_dst_token": (1001, Reason.TOKEN_NOT_ON_DST, Check.DST_TOKEN, put(dst_token=None)),
    "no_src_token": (1002, Reason.TOKEN_NOT_ON_SRC, Check.SRC_TOKEN, put(src_token=None)),
    "dst_disabled": (500, Reason.CHAIN_DISABLED, Check.CHAIN_ENABLED, chain("dst", disabled=True)),
    "src_disabled": (500, Reason.CHAIN_DISABLED, Check.CHAIN_ENABLED, chain("src", disabled=True)),
    "dst_unknown": (500, Reason.CHAIN_UNKNOWN, Check.CHAIN_KNOWN, put(dst_chain=None)),
    "src_unknown": (500, Reason.CHAIN_UNKNOWN, Check.CHAIN_KNOWN, put(src_chain=None)),
    "same_chain": (500, Reason.SAME_CHAIN, Check.SAME_CHAIN, requesting(dst_chain_id=1)),
    "address": (1015, Reason.ADDRESS_BLOCKED, Check.ADDRESS, put(address_blocked=True)),
    "network": (1018, Reason.NETWORK_BLOCKED, Check.CALLER_NETWORK, put(caller_blocked=True)),
}
IMPOSSIBLE_TOGETHER = {
    # What fees eat whole needs no balance and is not over 2^256-1.
    ("too_large", "fees"),
    ("fees", "dst_balance"),
}
LAST_TO_FIRST = list(FLAWS)


def test_the_base_passes():
    assert estimate(base()).eq_value_token_amt == 10**19


@pytest.mark.parametrize("name", FLAWS)
def test_each_refusal(name):
    code, reason, check, flaw = FLAWS[name]
    got = refused(flaw(base()))
    assert (got.code, got.reason, got.check) == (code, reason, check)
    assert isinstance(got.code, ErrCode)
    assert got.msg == got.msg.strip() != ""


@pytest.mark.parametrize(
    ("later", "earlier"), [pair for pair in combinations(LAST_TO_FIRST, 2) if pair not in IMPOSSIBLE_TOGETHER]
)
def test_the_earlier_check_wins(later, earlier):
    code, reason, check, flaw = FLAWS[earlier]
    inputs = FLAWS[later][3](base())
    got = refused(flaw(inputs))
    assert (got.code, got.reason, got.check) == (code, reason, check)


def test_checks_run_in_their_order():
    """From the last check to the first, each flaw laid over all the later ones takes the answer."""
    inputs = base()
    for name in LAST_TO_FIRST:
        if name == "fees":
            continue
        code, reason, check, flaw = FLAWS[name]
        inputs = flaw(inputs)
        got = refused(inputs)
        assert (got.code, got.reason, got.check) == (code, reason, check), name


def test_every_error_code_is_met():
    met = {ErrCode(flaw[0]) for flaw in FLAWS.values()}
    assert met == set(ErrCode) - {ErrCode.ERROR_CODE_UNDEFINED}


def test_empty_curve_side_follows_caps():
    empty = on_curve(dst_pool=pool_with(added=5, relayed=5))
    assert (refused(empty).code, refused(empty).check) == (1004, Check.DST_BALANCE)
    capped = replace(empty, src_pool=replace(known(empty.src_pool), total_cap=0))
    assert refused(capped).code == 1017
    dear = replace(empty, route=replace(known(empty.route), base_fee=BaseFee(10**40)))
    assert refused(dear).code == 1004


def test_balance_below_unit_is_empty_side():
    """One under a unit of 18 decimals."""
    inputs = on_curve()
    dust = replace(
        inputs, dst_token=replace(known(inputs.dst_token), decimals=36), dst_pool=pool_with(added=10**18 - 1)
    )
    assert refused(dust).code == 1004


def test_a_curve_that_does_not_settle():
    inputs = on_curve(src_pool=DEEP, dst_pool=pool_with(added=2**2000))
    got = refused(inputs)
    assert (got.code, got.reason, got.check) == (500, Reason.CURVE_UNSETTLED, Check.CURVE)


@pytest.mark.parametrize(("tolerance", "passes"), [(0, False), (1, True), (899_999, True), (10**6, False)])
def test_the_range_of_the_tolerance(tolerance, passes):
    inputs = with_request(usdt(), slippage_tolerance=tolerance)
    if passes:
        assert estimate(inputs).slippage_tolerance == tolerance
    else:
        assert refused(inputs).reason is Reason.BAD_SLIPPAGE_TOLERANCE


def test_missing_tolerance_is_zero_and_passes():
    inputs = with_request(usdt(), slippage_tolerance=0, tolerance_left_out=True)
    assert estimate(inputs).slippage_tolerance == 0


@pytest.mark.parametrize(
    ("age", "passes"), [(-5, True), (0, True), (600, True), (600.000001, False), (None, False)]
)
def test_the_age_of_the_base_fee(age, passes):
    since = None if age is None else NOW - timedelta(seconds=age)
    inputs = usdt()
    route = replace(known(inputs.route), base_fee=BaseFee(1, since), base_fee_max_age_seconds=600)
    inputs = replace(inputs, route=route)
    if passes:
        assert estimate(inputs).base_fee == 1
    else:
        assert refused(inputs).reason is Reason.FEE_STALE


def test_limits_are_inclusive():
    amt = 10**7
    inputs = with_request(usdt(), amt=amt)
    receive = estimate(inputs).estimated_receive_amt
    for equal, over, code in (
        (pool_with(added=amt), pool_with(added=amt - 1), 1005),
        (
            pool_with(added=amt, epoch_cap=amt + 9, epoch_volume=9),
            pool_with(added=amt, epoch_cap=amt, epoch_volume=1),
            1005,
        ),
        (pool_with(added=amt, total_cap=2 * amt), pool_with(added=amt, total_cap=2 * amt - 1), 1017),
    ):
        assert estimate(replace(inputs, src_pool=equal))
        assert refused(replace(inputs, src_pool=over)).code == code
    assert estimate(replace(inputs, dst_pool=pool_with(added=receive)))
    assert refused(replace(inputs, dst_pool=pool_with(added=receive - 1))).code == 1004


def test_counters_under_zero_count_as_zero():
    assert pool_with(added=5, relayed=9).balance == 0
    assert pool_with(added=5, sent=20, relayed=9).balance == 16
    assert pool_with(added=5, sent=20, relayed=9).inbound_limit == 0
    assert refused(usdt(src_pool=pool_with(added=5, relayed=9))).code == 1005


class TestPegged:
    def test_it_ignores_slippage_and_pools(self):
        inputs = replace(pegged(), src_pool=pool_with(), dst_pool=pool_with())
        for tolerance in (0, 3000, 10**6, 2**32 - 1):
            answer = estimate(with_request(inputs, slippage_tolerance=tolerance))
            assert (answer.max_slippage, answer.bridge_rate) == (0, 1)
            assert answer.slippage_tolerance == tolerance

    def test_pair_is_used_unless_pool_is_requested(self):
        both = replace(usdt(), pegged=PeggedTerms(BridgeType.DEPOSIT_MINT))
        assert estimate(both).bridge_type is BridgeType.DEPOSIT_MINT
        assert estimate(with_request(both, is_pegged=True)).bridge_type is BridgeType.DEPOSIT_MINT
        assert estimate(with_request(both, is_pegged=False)).bridge_type is BridgeType.POOL

    def test_requested_pair_must_exist(self):
        got = refused(with_request(usdt(), is_pegged=True))
        assert (got.code, got.reason) == (1001, Reason.NO_PEGGED_PAIR)
        assert "omit is_pegged" in got.msg

    def test_pair_answers_without_a_route(self):
        """Over gRPC-Web false looks like an omitted field, and some clients always send it."""
        assert estimate(with_request(pegged(), is_pegged=False)) == estimate(
            with_request(pegged(), is_pegged=True)
        )
        got = refused(with_request(replace(usdt(), route=None), is_pegged=False))
        assert (got.code, got.reason) == (1001, Reason.NO_ROUTE)

    def test_switches_count(self):
        assert refused(pegged(block=RouteBlock.BOTH)).code == 1009
        assert refused(pegged(block=RouteBlock.ONE_WAY)).code == 1016
        inputs = pegged()
        off = replace(known(inputs.src_token), xfer_disabled=True)
        assert refused(replace(inputs, src_token=off)).code == 1009

    def test_a_route_needs_both_pools(self):
        assert refused(usdt(src_pool=None)).reason is Reason.NO_ROUTE
        assert refused(usdt(dst_pool=None)).reason is Reason.NO_ROUTE
