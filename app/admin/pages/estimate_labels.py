"""The console's labels for the terms, limits and checks of an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.codes import BridgeType, ErrCode, Reason
from app.domain.estimate.explain import CheckOutcome
from app.domain.estimate.limits import MINIMAL_MAX_SLIPPAGE
from app.domain.estimate.refusals import Check


class Unit(StrEnum):
    """What a number of an estimate is counted in."""

    SRC = "source token"
    DST = "destination token"
    CURVE = "curve units"
    GAS = "gas token"
    PPM = "millionths"
    RATIO = "ratio"
    RATE = "rate"


@dataclass(frozen=True, slots=True)
class TermWords:
    """A term for people: its name, its unit, and its rounding direction."""

    label: str
    unit: Unit
    rounding: str = ""


TERM_WORDS: Final[dict[str, TermWords]] = {
    "invariant": TermWords("Invariant of the curve", Unit.CURVE, "down"),
    "scaled_amt": TermWords("Amount sent, in the destination's decimals", Unit.DST, "not rounded"),
    "eq_value_token_amt": TermWords("Worth on the destination, before fees", Unit.DST, "down"),
    "bridge_rate": TermWords("Rate", Unit.RATE, "not rounded"),
    "perc_fee": TermWords("Protocol fee", Unit.DST, "up"),
    "base_fee": TermWords("Base fee", Unit.DST),
    "estimated_receive_amt": TermWords("Received", Unit.DST),
    "minimum_destination_amt": TermWords("Least worth with the tolerance used up", Unit.DST, "not rounded"),
    "max_slippage_rate": TermWords("Share that may be lost", Unit.RATIO, "not rounded"),
    "max_slippage": TermWords("Max slippage, for the transaction", Unit.PPM, "down"),
    "minimum_receive_amt": TermWords("Least received at max slippage", Unit.DST, "not rounded"),
    "drop_gas_amt": TermWords("Gas dropped on the destination", Unit.GAS),
}

INPUT_WORDS: Final[dict[str, tuple[str, Unit | None]]] = {
    "source_balance": ("source pool's balance", Unit.CURVE),
    "destination_balance": ("destination pool's balance", Unit.CURVE),
    "amplification": ("amplification", None),
    "amt": ("amount sent", Unit.SRC),
    "source_decimals": ("source decimals", None),
    "destination_decimals": ("destination decimals", None),
    "rate": ("configured rate", None),
    "ppm": ("fee", Unit.PPM),
    "tier_from": ("tier begins at", Unit.SRC),
    "slippage_tolerance": ("slippage tolerance", Unit.PPM),
    "minimal_max_slippage": ("source chain's minimum", Unit.PPM),
    "invariant": ("invariant", Unit.CURVE),
}
"""The inputs of terms that are not terms themselves."""

LIMIT_WORDS: Final[dict[str, tuple[str, Unit]]] = {
    Check.MIN_SEND.value: ("Least amount of the token", Unit.SRC),
    Check.MAX_SEND.value: ("Greatest amount of the token", Unit.SRC),
    Check.INBOUND_LIMIT.value: ("Inbound limit of the source pool", Unit.SRC),
    Check.EPOCH_CAP.value: ("Epoch cap of the source pool", Unit.SRC),
    Check.TOTAL_CAP.value: ("Total cap of the source pool", Unit.SRC),
    Check.DST_BALANCE.value: ("Balance of the destination pool", Unit.DST),
    Check.RESULT_SIZE.value: ("Largest number that fits the contract", Unit.DST),
    Check.FEES.value: ("Something is left after the fees", Unit.DST),
    Check.MAX_SLIPPAGE.value: ("Max slippage under the whole amount", Unit.PPM),
    MINIMAL_MAX_SLIPPAGE: ("Least max slippage of the source chain's contract", Unit.PPM),
}

CHECK_WORDS: Final[dict[Check, str]] = {
    Check.CALLER_NETWORK: "The caller's network is not blocked",
    Check.ADDRESS: "The user's address is not blocked",
    Check.SAME_CHAIN: "Two different chains",
    Check.CHAIN_KNOWN: "Both chains are known",
    Check.CHAIN_ENABLED: "Both chains are in service",
    Check.SRC_TOKEN: "The source chain has the token",
    Check.DST_TOKEN: "The destination chain has the token",
    Check.ROUTE: "A route or a pegged pair joins them",
    Check.TOKEN_ENABLED: "The token is in service on both",
    Check.DIRECTION: "This way is not blocked",
    Check.AMOUNT: "The amount is over 0",
    Check.MIN_SEND: "The amount is at least the token's least",
    Check.MAX_SEND: "The amount is at most the token's greatest",
    Check.SLIPPAGE_TOLERANCE: "The tolerance is from 1 to 999999",
    Check.FEES_KNOWN: "The fees are known",
    Check.BASE_FEE_AGE: "The base fee is young enough",
    Check.INBOUND_LIMIT: "Within the source pool's inbound limit",
    Check.EPOCH_CAP: "Within the source pool's epoch cap",
    Check.TOTAL_CAP: "Within the source pool's total cap",
    Check.DST_BALANCE: "The destination pool can pay",
    Check.CURVE: "The curve gives a price",
    Check.FEES: "The fees leave something",
    Check.RESULT_SIZE: "The result fits the contract",
    Check.MAX_SLIPPAGE: "Max slippage is under the whole amount",
}

OUTCOME_WORDS: Final[dict[CheckOutcome, str]] = {
    CheckOutcome.PASSED: "passed",
    CheckOutcome.REFUSED: "refused",
    CheckOutcome.NOT_REACHED: "not reached",
    CheckOutcome.NOT_MADE: "does not apply",
}

BRIDGE_TYPE_WORDS: Final[dict[BridgeType, str]] = {
    BridgeType.UNDEFINED: "no way across was found",
    BridgeType.POOL: "through the pools",
    BridgeType.DEPOSIT_MINT: "deposited in the vault, minted on the other chain",
    BridgeType.BURN_WITHDRAW: "burned, withdrawn from the vault on the original chain",
    BridgeType.BURN_MINT: "burned, minted on another chain",
}

REFUSAL_WORDS: Final[dict[str, str]] = {
    Reason.BAD_REQUEST.value: "The question could not be read",
    Reason.NETWORK_BLOCKED.value: "The caller's network is blocked",
    Reason.ADDRESS_BLOCKED.value: "The user's address is blocked",
    Reason.SAME_CHAIN.value: "Source and destination are the same chain",
    Reason.CHAIN_UNKNOWN.value: "A chain is not known",
    Reason.CHAIN_DISABLED.value: "A chain is stopped",
    Reason.TOKEN_NOT_ON_SRC.value: "The source chain does not have the token",
    Reason.TOKEN_NOT_ON_DST.value: "The destination chain does not have the token",
    Reason.NO_ROUTE.value: "No route joins the chains",
    Reason.NO_PEGGED_PAIR.value: "No pegged pair joins the chains",
    Reason.TRANSFER_DISABLED.value: "Transfers of the token are disabled",
    Reason.DIRECTION_BLOCKED.value: "This direction is blocked",
    Reason.AMOUNT_ZERO.value: "The amount is 0",
    Reason.AMOUNT_UNDER_MINIMUM.value: "The amount is under the token's minimum",
    Reason.AMOUNT_OVER_MAXIMUM.value: "The amount is over the token's maximum",
    Reason.AMOUNT_TOO_SMALL.value: "The fees leave nothing of the amount",
    Reason.AMOUNT_TOO_LARGE.value: "The amount is too large for the contract",
    Reason.BAD_SLIPPAGE_TOLERANCE.value: "The slippage tolerance is not allowed",
    Reason.FEE_STALE.value: "The base fee is too old or not known",
    Reason.INBOUND_LIMIT.value: "Over the source pool's inbound limit",
    Reason.EPOCH_CAP.value: "Over the source pool's epoch cap",
    Reason.TOTAL_CAP.value: "Over the source pool's total cap",
    Reason.NOT_ENOUGH_LIQUIDITY.value: "The destination pool holds too little",
    Reason.CURVE_UNSETTLED.value: "The curve gives no price",
    Reason.SLIPPAGE_TOO_HIGH.value: "The slippage would be too high",
    Reason.UNAVAILABLE.value: "The gateway could not answer just then",
    Reason.INTERNAL.value: "Something went wrong in the gateway",
}
"""Why an estimate was refused, by the reason."""

REFUSAL_ADVICE: Final[dict[str, str]] = {
    Reason.BAD_REQUEST.value: "A client sends what the interface does not have.",
    Reason.NETWORK_BLOCKED.value: "Protection, Blocked networks lists them.",
    Reason.ADDRESS_BLOCKED.value: "Protection, Blocked addresses lists them.",
    Reason.CHAIN_UNKNOWN.value: "Clients know a chain that is not configured here.",
    Reason.CHAIN_DISABLED.value: "It is stopped until somebody resumes it.",
    Reason.NO_ROUTE.value: "Clients offer a way that is not configured here.",
    Reason.NO_PEGGED_PAIR.value: "Clients offer a way that is not configured here.",
    Reason.TRANSFER_DISABLED.value: "The token's page has the switch.",
    Reason.DIRECTION_BLOCKED.value: "Protection, Route blocks lists them.",
    Reason.AMOUNT_UNDER_MINIMUM.value: "The token's page has the minimum.",
    Reason.AMOUNT_OVER_MAXIMUM.value: "The token's page has the maximum.",
    Reason.AMOUNT_TOO_SMALL.value: "Where this is frequent, look at the base fee of the route.",
    Reason.FEE_STALE.value: "Nobody reports the fee any more: look at Last seen, then at the route.",
    Reason.INBOUND_LIMIT.value: "Providers withdrew, or most transfers go one way.",
    Reason.EPOCH_CAP.value: "The pool takes more when its next epoch begins.",
    Reason.TOTAL_CAP.value: "The pool takes more when transfers back empty it, or with a higher cap.",
    Reason.NOT_ENOUGH_LIQUIDITY.value: "The pool needs liquidity, or transfers the other way.",
    Reason.CURVE_UNSETTLED.value: "The pools of the route are far out of balance.",
    Reason.SLIPPAGE_TOO_HIGH.value: "The pools of the route are out of balance.",
    Reason.UNAVAILABLE.value: "The database did not answer. The log tells more.",
    Reason.INTERNAL.value: "This is a fault of the gateway. The log tells what happened.",
}
"""Where to look, of the reasons that operators can do something about."""


def refusal_words(code: int, reason: str) -> str:
    """Why estimates were refused, for people. Without a known reason the name of the code has to do."""
    if reason in REFUSAL_WORDS:
        return REFUSAL_WORDS[reason]
    name = ErrCode(code).name if code in set(ErrCode) else ""
    words = reason or name.removeprefix("ErrCode_").removeprefix("ERROR_CODE_").lower()
    return (words or f"code {code}").replace("_", " ").capitalize()
