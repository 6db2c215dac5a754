"""Why an estimate is refused: the reason, and a message that says what would succeed.

This module has the refusals of the checks that look at no amount; ``advice`` has those that do. No message
tells why something is blocked, or by which list (docs/interface.md#estimate-checks).
"""

from __future__ import annotations

from enum import StrEnum

from app.estimates.inputs import EstimateInputs
from app.network.route_terms import ChainTerms, RouteBlock
from app.values.codes import Reason
from app.values.errors import GatewayError

LISTED_NAMES = 8
ECHOED_CHARACTERS = 32


class Check(StrEnum):
    """The checks in the order in which they are made (docs/interface.md#estimate-checks)."""

    CALLER_NETWORK = "caller_network"
    ADDRESS = "address"
    SAME_CHAIN = "same_chain"
    CHAIN_KNOWN = "chain_known"
    CHAIN_ENABLED = "chain_enabled"
    SRC_TOKEN = "src_token"  # noqa: S105  a check, not a secret
    DST_TOKEN = "dst_token"  # noqa: S105  a check, not a secret
    ROUTE = "route"
    TOKEN_ENABLED = "token_enabled"  # noqa: S105  a check, not a secret
    DIRECTION = "direction"
    AMOUNT = "amount"
    MIN_SEND = "min_send"
    MAX_SEND = "max_send"
    SLIPPAGE_TOLERANCE = "slippage_tolerance"
    FEES_KNOWN = "fees_known"
    BASE_FEE_AGE = "base_fee_age"
    INBOUND_LIMIT = "inbound_limit"
    EPOCH_CAP = "epoch_cap"
    TOTAL_CAP = "total_cap"
    DST_BALANCE = "dst_balance"
    CURVE = "curve"
    FEES = "fees"
    RESULT_SIZE = "result_size"
    MAX_SLIPPAGE = "max_slippage"


class EstimateRefused(GatewayError):
    """An estimate is refused by ``check``; the numbers are what would pass, where the check has such.

    ``largest_passing_amt`` and ``smallest_passing_amt`` (source units) pass at the tolerance
    that was asked for: the nearest below and above the amount that was refused.
    ``largest_passing_tolerance`` passes with the amount that was asked for.
    """

    def __init__(
        self,
        msg: str,
        *,
        check: Check,
        reason: Reason,
        largest_passing_amt: int | None = None,
        smallest_passing_amt: int | None = None,
        largest_passing_tolerance: int | None = None,
    ) -> None:
        super().__init__(msg, reason=reason)
        self.check = check
        self.largest_passing_amt = largest_passing_amt
        self.smallest_passing_amt = smallest_passing_amt
        self.largest_passing_tolerance = largest_passing_tolerance


def network_blocked() -> EstimateRefused:
    """The caller's network is blocked."""
    return EstimateRefused(
        "Estimates are not available over a VPN: turn off the VPN, or try again from another network",
        check=Check.CALLER_NETWORK,
        reason=Reason.NETWORK_BLOCKED,
    )


def address_blocked() -> EstimateRefused:
    """``usr_addr`` is blocked."""
    return EstimateRefused(
        "Transfers are not available for this address; if you think this is a mistake, contact the "
        "gateway's operator",
        check=Check.ADDRESS,
        reason=Reason.ADDRESS_BLOCKED,
    )


def same_chain(inputs: EstimateInputs) -> EstimateRefused:
    """Source and destination are one chain."""
    return EstimateRefused(
        "Only transfers from one chain to another are accepted: choose a dst_chain_id other than the "
        f"src_chain_id {inputs.request.src_chain_id}",
        check=Check.SAME_CHAIN,
        reason=Reason.SAME_CHAIN,
    )


def chain_unknown(chain_id: int) -> EstimateRefused:
    """The network has no such chain."""
    return EstimateRefused(
        f"Chain {chain_id} is unknown: choose one of the chains in /v2/getTransferConfigs",
        check=Check.CHAIN_KNOWN,
        reason=Reason.CHAIN_UNKNOWN,
    )


def chain_disabled(chain: ChainTerms) -> EstimateRefused:
    """An operator has disabled the chain."""
    return EstimateRefused(
        f"{chain.name} is disabled at this moment: choose another chain, or try again later",
        check=Check.CHAIN_ENABLED,
        reason=Reason.CHAIN_DISABLED,
    )


def token_not_on_src(inputs: EstimateInputs, chain: ChainTerms) -> EstimateRefused:
    """The source chain does not have the token."""
    elsewhere = [name for name in inputs.symbol_chains if name != chain.name]
    if inputs.spelling is not None:
        hint = f"letter case matters, send token_symbol={inputs.spelling}"
    elif elsewhere:
        hint = f"it can be sent from {_listed(elsewhere)}"
    else:
        hint = "choose one of the tokens in /v2/getTransferConfigs"
    return EstimateRefused(
        f"{symbol_of(inputs)} is not supported on {chain.name}: {hint}",
        check=Check.SRC_TOKEN,
        reason=Reason.TOKEN_NOT_ON_SRC,
    )


def token_not_on_dst(inputs: EstimateInputs, src: ChainTerms, dst: ChainTerms) -> EstimateRefused:
    """The destination chain does not have the token."""
    return EstimateRefused(
        f"{symbol_of(inputs)} is not supported on {dst.name}: {_destinations(inputs, src)}",
        check=Check.DST_TOKEN,
        reason=Reason.TOKEN_NOT_ON_DST,
    )


def no_route(inputs: EstimateInputs, src: ChainTerms, dst: ChainTerms, *, pegged: bool) -> EstimateRefused:
    """Both chains have the token, but no route or pegged pair, whichever was asked for, joins them."""
    kind = "pegged pair" if pegged else "pool route"
    if pegged and inputs.route is not None:
        hint = "omit is_pegged for a transfer through the pools"
    elif not pegged and inputs.pegged is not None:
        hint = "set is_pegged to true for a pegged transfer"
    else:
        hint = _destinations(inputs, src)
    return EstimateRefused(
        f"There is no {kind} for {symbol_of(inputs)} from {src.name} to {dst.name}: {hint}",
        check=Check.ROUTE,
        reason=Reason.NO_PEGGED_PAIR if pegged else Reason.NO_ROUTE,
    )


def token_disabled(inputs: EstimateInputs, src: ChainTerms, disabled_on: ChainTerms) -> EstimateRefused:
    """The token is disabled on one of the chains."""
    hint = _destinations(inputs, src) if disabled_on is not src else "try again later"
    return EstimateRefused(
        f"Transfers of {symbol_of(inputs)} are disabled on {disabled_on.name} at this moment: {hint}",
        check=Check.TOKEN_ENABLED,
        reason=Reason.TRANSFER_DISABLED,
    )


def pool_disabled(inputs: EstimateInputs, src: ChainTerms, disabled_on: ChainTerms) -> EstimateRefused:
    """The token may not go through its pool on one of the chains."""
    if inputs.pegged is not None:
        hint = "set is_pegged to true for a pegged transfer"
    else:
        hint = _destinations(inputs, src) if disabled_on is not src else "try again later"
    return EstimateRefused(
        f"Transfers of {symbol_of(inputs)} through the pool on {disabled_on.name} are disabled "
        f"at this moment: {hint}",
        check=Check.TOKEN_ENABLED,
        reason=Reason.TRANSFER_DISABLED,
    )


def route_blocked(inputs: EstimateInputs, src: ChainTerms, dst: ChainTerms) -> EstimateRefused:
    """The route is blocked in both directions, or in this one alone."""
    symbol = symbol_of(inputs)
    if inputs.block is RouteBlock.BOTH:
        return EstimateRefused(
            f"Transfers of {symbol} between {src.name} and {dst.name} are disabled in both directions "
            f"at this moment: {_destinations(inputs, src)}",
            check=Check.TOKEN_ENABLED,
            reason=Reason.TRANSFER_DISABLED,
        )
    return EstimateRefused(
        f"Transfers of {symbol} from {src.name} to {dst.name} are disabled at this moment: "
        f"{_destinations(inputs, src)}",
        check=Check.DIRECTION,
        reason=Reason.DIRECTION_BLOCKED,
    )


def amount_zero() -> EstimateRefused:
    """The amount is zero. The message is that of existing gateways: clients may compare it."""
    return EstimateRefused("amount should > 0", check=Check.AMOUNT, reason=Reason.AMOUNT_ZERO)


def tolerance_out_of_range(tolerance: int) -> EstimateRefused:
    """``slippage_tolerance`` is not from 1 to 999999."""
    return EstimateRefused(
        "slippage_tolerance must be from 1 to 999999 parts per million, such as 5000 for 0.5 %, not "
        f"{tolerance}",
        check=Check.SLIPPAGE_TOLERANCE,
        reason=Reason.BAD_SLIPPAGE_TOLERANCE,
    )


def fees_unknown(inputs: EstimateInputs, src: ChainTerms, dst: ChainTerms) -> EstimateRefused:
    """A fee that the transfer would pay is not known."""
    return EstimateRefused(
        f"The fees of {symbol_of(inputs)} from {src.name} to {dst.name} are not known at this moment: try "
        "again later",
        check=Check.FEES_KNOWN,
        reason=Reason.FEE_STALE,
    )


def base_fee_stale(inputs: EstimateInputs, src: ChainTerms, dst: ChainTerms, allowed: int) -> EstimateRefused:
    """The route's base fee is older than ``allowed`` seconds."""
    return EstimateRefused(
        f"The base fee of {symbol_of(inputs)} from {src.name} to {dst.name} is out of date (older than "
        f"{allowed} seconds): try again in a few minutes",
        check=Check.BASE_FEE_AGE,
        reason=Reason.FEE_STALE,
    )


def symbol_of(inputs: EstimateInputs) -> str:
    """The token's name for a message: as configured, else as asked where that is safe to repeat."""
    token = inputs.src_token or inputs.dst_token
    if token is not None:
        return token.symbol
    asked = inputs.request.token_symbol
    plain = 0 < len(asked) <= ECHOED_CHARACTERS and asked.isprintable() and not set(asked) & set("<>&\"'`\\")
    return asked if plain else "This token"


def _destinations(inputs: EstimateInputs, src: ChainTerms) -> str:
    """Where else the token can go from the source."""
    refused = inputs.dst_chain.name if inputs.dst_chain is not None else ""
    others = [name for name in inputs.open_destinations if name != refused]
    if not others:
        return f"no other destination is available from {src.name} at this moment, try again later"
    return f"from {src.name} it can be sent to {_listed(others)}"


def _listed(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - LISTED_NAMES
    return ", ".join(names[:LISTED_NAMES]) + (f" and {more} more" if more > 0 else "")
