"""Refusals of estimates, and the texts that several refusals share.

A message says what would succeed. None says why something is blocked, or by which list
(docs/interface/estimates.md#estimate-checks).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, Self

from app.estimates.rules.inputs import EstimateInputs
from app.estimates.rules.passing import Advice, lower_tolerance
from app.estimates.rules.pricing import Price, TransferTerms
from app.network.rules.terms import ChainTerms
from app.values.amounts import format_units
from app.values.codes import Reason
from app.values.errors import GatewayError
from app.values.times import Epoch, rfc3339

LISTED_NAMES: Final = 8
ECHOED_CHARACTERS: Final = 32
LONGEST_EPOCH_NAMED: Final = 366 * 24 * 60 * 60


class Check(StrEnum):
    """The checks, in the order in which they are made (docs/interface/estimates.md#estimate-checks).

    ``label`` is the condition that the console shows for a transfer that passes. A check ``of_pools`` is not
    made for a pegged transfer.
    """

    label: str
    of_pools: bool

    def __new__(cls, name: str, label: str, of_pools: bool = False) -> Self:
        """``name`` is the name for clients."""
        check = str.__new__(cls, name)
        check._value_, check.label, check.of_pools = name, label, of_pools
        return check

    CALLER_NETWORK = "caller_network", "The client's network is not blocked"
    ADDRESS = "address", "The user's address is not blocked"
    SAME_CHAIN = "same_chain", "The two chains are different"
    CHAIN_KNOWN = "chain_known", "Both chains are known"
    CHAIN_ENABLED = "chain_enabled", "Both chains are running"
    SRC_TOKEN = "src_token", "The source chain has the token"
    DST_TOKEN = "dst_token", "The destination chain has the token"
    ROUTE = "route", "A route or a pegged pair connects them"
    TOKEN_ENABLED = "token_enabled", "The token is enabled on both chains"
    DIRECTION = "direction", "This direction is not blocked"
    AMOUNT = "amount", "The amount is above 0"
    MIN_SEND = "min_send", "The amount is at least the token's minimum"
    MAX_SEND = "max_send", "The amount is at most the token's maximum"
    SLIPPAGE_TOLERANCE = "slippage_tolerance", "The slippage tolerance is from 1 to 999999 (ppm)", True
    FEES_KNOWN = "fees_known", "The fees are known"
    BASE_FEE_AGE = "base_fee_age", "The base fee is recent enough", True
    INBOUND_LIMIT = "inbound_limit", "Within the source pool's inbound limit", True
    EPOCH_CAP = "epoch_cap", "Within the source pool's epoch cap", True
    TOTAL_CAP = "total_cap", "Within the source pool's total cap", True
    DST_BALANCE = "dst_balance", "The destination pool can pay", True
    CURVE = "curve", "The curve has a price", True
    FEES = "fees", "An amount is left after fees"
    RESULT_SIZE = "result_size", "The result fits the contract"
    MAX_SLIPPAGE = "max_slippage", "Maximum slippage is below 100 %", True

    @property
    def public_name(self) -> str:
        """The name for clients. It is the same for the two checks that look for blocks: only the code of the
        estimate itself shows which one refused."""
        return "access" if self in (Check.CALLER_NETWORK, Check.ADDRESS) else self.value


class EstimateRefused(GatewayError):
    """An estimate is refused by ``check``. ``advice`` has the numbers that would pass, if any."""

    def __init__(self, check: Check, reason: Reason, msg: str, advice: Advice | None = None) -> None:
        super().__init__(msg, reason=reason)
        self.check = check
        self.largest_passing_amt, self.smallest_passing_amt, self.largest_passing_tolerance = (
            advice or Advice()
        )


def chain_unknown(chain_id: int) -> EstimateRefused:
    msg = f"Chain {chain_id} is unknown: choose one of the chains in /v2/getTransferConfigs"
    return EstimateRefused(Check.CHAIN_KNOWN, Reason.CHAIN_UNKNOWN, msg)


def amount_zero() -> EstimateRefused:
    """The message is that of existing gateways, because clients may compare it."""
    return EstimateRefused(Check.AMOUNT, Reason.AMOUNT_ZERO, "amount should > 0")


def symbol_of(inputs: EstimateInputs) -> str:
    """The token's name for a message: as configured, else as requested where that is safe to repeat."""
    token = inputs.src_token or inputs.dst_token
    if token is not None:
        return token.symbol
    named = inputs.request.token_symbol
    plain = 0 < len(named) <= ECHOED_CHARACTERS and named.isprintable() and not set(named) & set("<>&\"'`\\")
    return named if plain else "This token"


def destinations(inputs: EstimateInputs, src: ChainTerms) -> str:
    refused = inputs.dst_chain.name if inputs.dst_chain is not None else ""
    others = [name for name in inputs.open_destinations if name != refused]
    if not others:
        return f"no other destination is available from {src.name} at this moment, try again later"
    return f"from {src.name} it can be sent to {listed(others)}"


def listed(names: Sequence[str]) -> str:
    more = len(names) - LISTED_NAMES
    return ", ".join(names[:LISTED_NAMES]) + (f" and {more} more" if more > 0 else "")


def written(transfer: TransferTerms, amt: int) -> str:
    return f"{format_units(amt, transfer.src_token.decimals)} {transfer.src_token.symbol}"


def nothing_passes(inputs: EstimateInputs, transfer: TransferTerms, price: Price | None) -> str:
    """The sentence that no amount passes at this tolerance, and what to do."""
    symbol, src, dst = transfer.src_token.symbol, transfer.src_chain.name, transfer.dst_chain.name
    lower = lower_tolerance(transfer, price)
    if lower is not None:
        tolerance, amt = lower
        return (
            f"No amount is possible with a slippage_tolerance of {transfer.tolerance}; with {tolerance} or "
            f"less you can transfer {written(transfer, amt)} at this moment"
        )
    others = [name for name in inputs.open_destinations if name != dst]
    hint = " or choose another destination chain" if others else ""
    return (
        f"No amount of {symbol} can be transferred from {src} to {dst} at this moment: try again later{hint}"
    )


def next_epoch(inputs: EstimateInputs, transfer: TransferTerms) -> str:
    """When the epoch's volume starts again from 0, where that is known."""
    seconds = transfer.pools.src.epoch_seconds if transfer.pools is not None else None
    if seconds is None or not 0 < seconds <= LONGEST_EPOCH_NAMED:
        return ""
    return f"; the limit resets at {rfc3339(Epoch.at(inputs.now, seconds).ends_at)}"
