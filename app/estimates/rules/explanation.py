"""Explains an estimate: its terms, its limits, its checks, and the amounts that pass, from the same parts as
the answer (``pricing``, ``checks``).
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from app.estimates.rules.checks import refusal_of
from app.estimates.rules.explained_terms import PPM_UNIT, Term, Unit, dst_unit, src_unit, terms_of
from app.estimates.rules.passing import PassingRange, largest_paid, range_within_limits
from app.estimates.rules.pricing import Calculation, Price, Priced, TransferTerms, price_transfer
from app.estimates.rules.refusals import Check, EstimateRefused
from app.network.rules.terms import BaseFee, FixedRate, StableSwapRate
from app.values.amounts import MAX_UINT256, PPM
from app.values.codes import BridgeType


class Limit(Struct, frozen=True):
    """One limit. ``counted`` is the number of this transfer that counts against ``value``, both in ``unit``.

    ``check`` refuses a transfer that breaks it; None for ``minimal_max_slippage``, which refuses nothing.
    ``label`` names it in the console. ``largest_amt`` is the largest amount (source units) that this limit
    allows, ``None`` where it bounds none. ``binds``: an upper limit that is the tightest; a lower one that is
    broken; for ``minimal_max_slippage`` whether ``max_slippage`` is equal to it.
    """

    check: Check | None
    label: str
    formula: str
    value: int
    counted: int
    unit: Unit
    largest_amt: int | None = None
    at_least: bool = False
    binds: bool = False

    @property
    def name(self) -> str:
        return "minimal_max_slippage" if self.check is None else self.check.value

    @property
    def headroom(self) -> int:
        """What this transfer leaves of the limit. Negative: the limit is broken."""
        return self.counted - self.value if self.at_least else self.value - self.counted

    @property
    def is_broken(self) -> bool:
        """Whether its check refuses this transfer, if no earlier one does."""
        return self.check is not None and self.headroom < 0


def limits_of(priced: Priced) -> tuple[Limit, ...]:
    """The limits for which there are numbers."""
    transfer, amt = priced.transfer, priced.inputs.request.amt
    if transfer is None:
        return ()
    upper = [*_inbound(transfer, amt), *_outbound(transfer, priced.price, priced.result)]
    tightest = min((limit.largest_amt for limit in upper if limit.largest_amt is not None), default=None)
    return (
        *(
            replace(limit, binds=limit.largest_amt is not None and limit.largest_amt == tightest)
            for limit in upper
        ),
        *(replace(limit, binds=limit.headroom < 0) for limit in _lower(transfer, priced.result, amt)),
    )


def _of_pair(transfer: TransferTerms, end: str) -> str:
    """The bound that replaces the token's for a pegged transfer, in words."""
    return f"{end}_deposit or {end}_burn of the pair, else " if transfer.pools is None else ""


def _inbound(transfer: TransferTerms, amt: int) -> list[Limit]:
    """The operator's bound and the source pool's limits. Each bounds the amount itself."""
    limits: list[Limit] = []
    most = transfer.src_token.max_send

    def limit(check: Check, label: str, formula: str, value: int, used: int, largest: int) -> None:
        unit = src_unit(transfer)
        limits.append(Limit(check, label, formula, value, used + amt, unit, largest_amt=largest))

    if most is not None:
        formula = f"amt is at most {_of_pair(transfer, 'max')}max_send of the token on the source chain"
        limit(Check.MAX_SEND, "Maximum amount of the token", formula, most, 0, most)
    if transfer.pools is None:
        return limits
    pool = transfer.pools.src
    label, value = "Inbound limit of the source pool", pool.inbound_limit
    formula = "amt is at most liquidity added - relayed - withdrawn of the source pool"
    limit(Check.INBOUND_LIMIT, label, formula, value, 0, max(0, value))
    if pool.epoch_cap is not None:
        label, value, used = "Epoch cap of the source pool", pool.epoch_cap, pool.epoch_volume
        formula = "volume of the source pool in this epoch + amt is at most its epoch cap"
        limit(Check.EPOCH_CAP, label, formula, value, used, max(0, value - used))
    if pool.total_cap is not None:
        label, value, used = "Total cap of the source pool", pool.total_cap, pool.balance
        formula = "balance of the source pool + amt is at most its total cap"
        limit(Check.TOTAL_CAP, label, formula, value, used, max(0, value - used))
    return limits


def _outbound(transfer: TransferTerms, price: Price | None, result: Calculation | None) -> list[Limit]:
    """The destination pool's balance at a fixed rate, and the bound of uint256."""
    if result is None or price is None:
        return []
    limits = []
    if transfer.pools is not None and isinstance(transfer.rate, FixedRate):
        limits.append(
            Limit(
                Check.DST_BALANCE,
                "Balance of the destination pool",
                "estimated_receive_amt is at most the balance of the destination pool",
                transfer.pools.dst.balance,
                result.receive,
                dst_unit(transfer),
                largest_amt=largest_paid(transfer, price),
            )
        )
    label, formula = "Largest number that fits the contract", "eq_value_token_amt is at most 2^256-1"
    limits.append(Limit(Check.RESULT_SIZE, label, formula, MAX_UINT256, result.eq, dst_unit(transfer)))
    return limits


def _lower(transfer: TransferTerms, result: Calculation | None, amt: int) -> list[Limit]:
    """The limits that a small amount breaks. Through pools most of it is lost to fees and tolerance."""
    limits, least = [], transfer.src_token.min_send
    if least is not None:
        label, unit = "Minimum amount of the token", src_unit(transfer)
        formula = f"amt is at least {_of_pair(transfer, 'min')}min_send of the token on the source chain"
        limits.append(Limit(Check.MIN_SEND, label, formula, least, amt, unit, at_least=True))
    if result is None:
        return limits
    label, formula = "Amount left after fees", "estimated_receive_amt is at least 1"
    limits.append(Limit(Check.FEES, label, formula, 1, result.receive, dst_unit(transfer), at_least=True))
    if transfer.pools is None:
        return limits
    label, formula = "Maximum slippage below 100 %", "max_slippage is at most 999999"
    limits.append(Limit(Check.MAX_SLIPPAGE, label, formula, PPM - 1, result.max_slippage, PPM_UNIT))
    label = "Minimum slippage of the source chain's contract"
    formula = "max_slippage is at least minimal_max_slippage of the source chain"
    minimal = transfer.src_chain.minimal_max_slippage
    limits.append(Limit(None, label, formula, minimal, result.slippage_down, PPM_UNIT, at_least=True))
    return limits


class CheckOutcome(StrEnum):
    PASSED = "passed"
    REFUSED = "refused"
    NOT_REACHED = "not_reached"
    NOT_MADE = "not_made"


class CheckResult(Struct, frozen=True):
    """``NOT_MADE``: the check does not apply to this kind of transfer."""

    check: Check
    outcome: CheckOutcome


class Explanation(Struct, frozen=True):
    """The explanation of one answer; ``refusal`` is ``None`` where it is an estimate.

    ``terms`` and ``limits`` are those that can be calculated, also for a refusal: none for an unknown chain,
    all for an amount over a limit. ``passing`` does not depend on the requested amount; None where none
    passes.
    """

    priced: Priced
    terms: tuple[Term, ...]
    limits: tuple[Limit, ...]
    checks: tuple[CheckResult, ...]
    refusal: EstimateRefused | None
    passing: PassingRange | None

    @property
    def bridge_type(self) -> BridgeType:
        """``UNDEFINED`` while no route or pair is known."""
        transfer = self.priced.transfer
        return BridgeType.UNDEFINED if transfer is None else transfer.bridge_type

    @property
    def rate_model(self) -> str:
        """``fixed``, ``stableswap`` or ``pegged``; empty where no route or pair is known."""
        transfer = self.priced.transfer
        if transfer is None:
            return ""
        if transfer.pools is None:
            return "pegged"
        return "fixed" if isinstance(transfer.rate, FixedRate) else "stableswap"

    @property
    def base_fee(self) -> BaseFee | None:
        """The base fee of the route; None for a pegged transfer, and where it is not known."""
        transfer, route = self.priced.transfer, self.priced.inputs.route
        return None if transfer is None or transfer.pools is None or route is None else route.base_fee

    @property
    def base_fee_source(self) -> str:
        """``configured``, ``reported`` or ``pinned``; empty where the base fee is not known."""
        fee = self.base_fee
        if fee is None:
            return "configured" if self.rate_model == "pegged" else ""
        if fee.pinned_until is not None:
            return "pinned"
        return "reported" if fee.reported else "configured"

    @property
    def base_fee_since(self) -> datetime | None:
        return None if self.base_fee is None else self.base_fee.since

    @property
    def facts_age_seconds(self) -> float | None:
        """How long ago pools and fee were read, to the millisecond; None where they do not count."""
        age = self.priced.inputs.facts_age
        return None if age is None else round(age, 3)

    @property
    def public_checks(self) -> tuple[CheckResult, ...]:
        """The checks for clients. The two checks that look for blocks are one."""
        network, address, *others = self.checks
        refused = network if network.outcome is CheckOutcome.REFUSED else address
        return (replace(address, outcome=refused.outcome), *others)


def explain(priced: Priced) -> Explanation:
    """Raises nothing."""
    refusal = refusal_of(priced)
    return Explanation(
        priced=priced,
        terms=terms_of(priced),
        limits=limits_of(priced),
        checks=_checks(priced.transfer, refusal),
        refusal=refusal,
        passing=passing_range(priced),
    )


def passing_range(priced: Priced) -> PassingRange | None:
    """The exact range; None where no amount passes or the curve gives no price. Raises nothing."""
    found = range_within_limits(priced)
    if found is None or not all(_passes(priced, amt) for amt in (found.least_amt, found.most_amt)):
        return None
    return found


def _passes(priced: Priced, amt: int) -> bool:
    """Whether this amount passes every check, including those that do not depend on it."""
    request = replace(priced.inputs.request, amt=amt)
    return refusal_of(price_transfer(replace(priced.inputs, request=request))) is None


def _applies(check: Check, transfer: TransferTerms) -> bool:
    if check is Check.CURVE:
        return isinstance(transfer.rate, StableSwapRate)
    return transfer.pools is not None or not check.of_pools


def _checks(transfer: TransferTerms | None, refusal: EstimateRefused | None) -> tuple[CheckResult, ...]:
    """Those before the refusing one have passed."""
    results = []
    outcome = CheckOutcome.PASSED
    for check in Check:
        if transfer is not None and not _applies(check, transfer):
            results.append(CheckResult(check, CheckOutcome.NOT_MADE))
        elif refusal is not None and check is refusal.check:
            results.append(CheckResult(check, CheckOutcome.REFUSED))
            outcome = CheckOutcome.NOT_REACHED
        else:
            results.append(CheckResult(check, outcome))
    return tuple(results)


CHECK_NAMES: Final = tuple(dict.fromkeys(check.public_name for check in Check))
"""The names of the checks for clients, in their order."""
