"""How the estimates of the last hour ended, and the console's labels for their terms, limits and checks."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.db.database import Database
from app.db.engine import reading
from app.estimates.explained_terms import MINIMAL_MAX_SLIPPAGE
from app.estimates.explanation import CheckOutcome
from app.estimates.queries import estimate_counts
from app.estimates.refusals import Check
from app.refunds.admin import share_down
from app.values.codes import BridgeType, ErrCode, Reason
from app.values.times import MINUTE, minute_of, minute_start


class Unit(StrEnum):
    """What a number of an estimate is counted in."""

    SRC = "source token"
    DST = "destination token"
    CURVE = "curve units"
    GAS = "gas token"
    PPM = "ppm"
    RATIO = "ratio"
    RATE = "rate"


class TermWords(Struct, frozen=True):
    """A term for people: its name and its unit."""

    label: str
    unit: Unit


TERM_WORDS: Final[dict[str, TermWords]] = {
    "invariant": TermWords("Invariant of the curve", Unit.CURVE),
    "scaled_amt": TermWords("Amount sent, in the destination's decimals", Unit.DST),
    "eq_value_token_amt": TermWords("Value on the destination before fees", Unit.DST),
    "bridge_rate": TermWords("Rate", Unit.RATE),
    "perc_fee": TermWords("Protocol fee", Unit.DST),
    "base_fee": TermWords("Base fee", Unit.DST),
    "estimated_receive_amt": TermWords("Received", Unit.DST),
    "minimum_destination_amt": TermWords("Minimum value at full tolerance", Unit.DST),
    "max_slippage_rate": TermWords("Maximum loss as a share", Unit.RATIO),
    "max_slippage": TermWords("Maximum slippage for the transaction", Unit.PPM),
    "minimum_receive_amt": TermWords("Minimum received at maximum slippage", Unit.DST),
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
    "tier_from": ("tier starts at", Unit.SRC),
    "slippage_tolerance": ("slippage tolerance", Unit.PPM),
    "minimal_max_slippage": ("source chain's minimum", Unit.PPM),
    "invariant": ("invariant", Unit.CURVE),
}
"""The inputs of terms that are not terms themselves."""

LIMIT_WORDS: Final[dict[str, tuple[str, Unit]]] = {
    Check.MIN_SEND.value: ("Minimum amount of the token", Unit.SRC),
    Check.MAX_SEND.value: ("Maximum amount of the token", Unit.SRC),
    Check.INBOUND_LIMIT.value: ("Inbound limit of the source pool", Unit.SRC),
    Check.EPOCH_CAP.value: ("Epoch cap of the source pool", Unit.SRC),
    Check.TOTAL_CAP.value: ("Total cap of the source pool", Unit.SRC),
    Check.DST_BALANCE.value: ("Balance of the destination pool", Unit.DST),
    Check.RESULT_SIZE.value: ("Largest number that fits the contract", Unit.DST),
    Check.FEES.value: ("Amount left after fees", Unit.DST),
    Check.MAX_SLIPPAGE.value: ("Maximum slippage below 100 %", Unit.PPM),
    MINIMAL_MAX_SLIPPAGE: ("Minimum slippage of the source chain's contract", Unit.PPM),
}

CHECK_WORDS: Final[dict[Check, str]] = {
    Check.CALLER_NETWORK: "The client's network is not blocked",
    Check.ADDRESS: "The user's address is not blocked",
    Check.SAME_CHAIN: "The two chains are different",
    Check.CHAIN_KNOWN: "Both chains are known",
    Check.CHAIN_ENABLED: "Both chains are running",
    Check.SRC_TOKEN: "The source chain has the token",
    Check.DST_TOKEN: "The destination chain has the token",
    Check.ROUTE: "A route or a pegged pair connects them",
    Check.TOKEN_ENABLED: "The token is enabled on both chains",
    Check.DIRECTION: "This direction is not blocked",
    Check.AMOUNT: "The amount is above 0",
    Check.MIN_SEND: "The amount is at least the token's minimum",
    Check.MAX_SEND: "The amount is at most the token's maximum",
    Check.SLIPPAGE_TOLERANCE: "The slippage tolerance is from 1 to 999999 (ppm)",
    Check.FEES_KNOWN: "The fees are known",
    Check.BASE_FEE_AGE: "The base fee is recent enough",
    Check.INBOUND_LIMIT: "Within the source pool's inbound limit",
    Check.EPOCH_CAP: "Within the source pool's epoch cap",
    Check.TOTAL_CAP: "Within the source pool's total cap",
    Check.DST_BALANCE: "The destination pool can pay",
    Check.CURVE: "The curve has a price",
    Check.FEES: "An amount is left after fees",
    Check.RESULT_SIZE: "The result fits the contract",
    Check.MAX_SLIPPAGE: "Maximum slippage is below 100 %",
}

OUTCOME_WORDS: Final[dict[CheckOutcome, str]] = {
    CheckOutcome.PASSED: "Passed",
    CheckOutcome.REFUSED: "Failed",
    CheckOutcome.NOT_REACHED: "Not reached",
    CheckOutcome.NOT_MADE: "Not applicable",
}

BRIDGE_TYPE_WORDS: Final[dict[BridgeType, str]] = {
    BridgeType.UNDEFINED: "No route found",
    BridgeType.POOL: "Liquidity pools",
    BridgeType.DEPOSIT_MINT: "Deposit in the vault, mint on the destination",
    BridgeType.BURN_WITHDRAW: "Burn, withdraw from the vault on the original chain",
    BridgeType.BURN_MINT: "Burn, mint on the destination",
}

REFUSAL_WORDS: Final[dict[str, str]] = {
    Reason.BAD_REQUEST.value: "The request could not be read",
    Reason.NETWORK_BLOCKED.value: "The client's network is blocked",
    Reason.ADDRESS_BLOCKED.value: "The user's address is blocked",
    Reason.SAME_CHAIN.value: "Source and destination are the same chain",
    Reason.CHAIN_UNKNOWN.value: "A chain is not known",
    Reason.CHAIN_DISABLED.value: "A chain is stopped",
    Reason.TOKEN_NOT_ON_SRC.value: "The source chain does not have the token",
    Reason.TOKEN_NOT_ON_DST.value: "The destination chain does not have the token",
    Reason.NO_ROUTE.value: "No route connects the chains",
    Reason.NO_PEGGED_PAIR.value: "No pegged pair connects the chains",
    Reason.TRANSFER_DISABLED.value: "Transfers of the token are disabled",
    Reason.DIRECTION_BLOCKED.value: "This direction is blocked",
    Reason.AMOUNT_ZERO.value: "The amount is 0",
    Reason.AMOUNT_UNDER_MINIMUM.value: "The amount is below the token's minimum",
    Reason.AMOUNT_OVER_MAXIMUM.value: "The amount is above the token's maximum",
    Reason.AMOUNT_TOO_SMALL.value: "The fees leave nothing of the amount",
    Reason.AMOUNT_TOO_LARGE.value: "The amount is too large for the contract",
    Reason.BAD_SLIPPAGE_TOLERANCE.value: "The slippage tolerance is not allowed",
    Reason.FEE_STALE.value: "The base fee is too old or not known",
    Reason.INBOUND_LIMIT.value: "Over the source pool's inbound limit",
    Reason.EPOCH_CAP.value: "Over the source pool's epoch cap",
    Reason.TOTAL_CAP.value: "Over the source pool's total cap",
    Reason.NOT_ENOUGH_LIQUIDITY.value: "The destination pool holds too little",
    Reason.CURVE_UNSETTLED.value: "The curve has no price",
    Reason.SLIPPAGE_TOO_HIGH.value: "The slippage would be too high",
    Reason.UNAVAILABLE.value: "The gateway could not answer at that moment",
    Reason.INTERNAL.value: "Something went wrong in the gateway",
}
"""Why an estimate was refused, by the reason."""

REFUSAL_ADVICE: Final[dict[str, str]] = {
    Reason.BAD_REQUEST.value: "A client sends something that the API does not have.",
    Reason.NETWORK_BLOCKED.value: "See Blocks, Networks.",
    Reason.ADDRESS_BLOCKED.value: "See Blocks, Addresses.",
    Reason.CHAIN_UNKNOWN.value: "Clients use a chain that is not configured here.",
    Reason.CHAIN_DISABLED.value: "It stays stopped until an operator resumes it.",
    Reason.NO_ROUTE.value: "Clients offer a route that is not configured here.",
    Reason.NO_PEGGED_PAIR.value: "Clients offer a route that is not configured here.",
    Reason.TRANSFER_DISABLED.value: "Enable the token on its page.",
    Reason.DIRECTION_BLOCKED.value: "See Blocks, Routes.",
    Reason.AMOUNT_UNDER_MINIMUM.value: "The minimum is set on the token's page.",
    Reason.AMOUNT_OVER_MAXIMUM.value: "The maximum is set on the token's page.",
    Reason.AMOUNT_TOO_SMALL.value: "If this is frequent, check the base fee of the route.",
    Reason.FEE_STALE.value: "The fee is not reported any more: check the chain freshness, then the route.",
    Reason.INBOUND_LIMIT.value: "Liquidity was withdrawn, or most transfers are in one direction.",
    Reason.EPOCH_CAP.value: "The pool accepts more when its next epoch starts.",
    Reason.TOTAL_CAP.value: "The pool accepts more after transfers back, or with a higher cap.",
    Reason.NOT_ENOUGH_LIQUIDITY.value: "The pool needs liquidity, or transfers in the other direction.",
    Reason.CURVE_UNSETTLED.value: "The pools of the route are far out of balance.",
    Reason.SLIPPAGE_TOO_HIGH.value: "The pools of the route are out of balance.",
    Reason.UNAVAILABLE.value: "The database did not answer. The log has the details.",
    Reason.INTERNAL.value: "This is a fault of the gateway. The log has the details.",
}
"""Where to look, of the reasons that operators can do something about."""


def refusal_words(code: int, reason: str) -> str:
    """Why estimates were refused, for people. Without a known reason the name of the code has to do."""
    if reason in REFUSAL_WORDS:
        return REFUSAL_WORDS[reason]
    name = ErrCode(code).name if code in set(ErrCode) else ""
    words = reason or name.removeprefix("ErrCode_").removeprefix("ERROR_CODE_").lower()
    return (words or f"code {code}").replace("_", " ").capitalize()


LONGEST: Final = timedelta(days=1)
_MINUTE: Final = timedelta(minutes=1)


class RefusalCount(Struct, frozen=True):
    """Refusals with the same code and reason: ``err.code`` and the header X-Gateway-Reason.

    ``words`` say it for people, ``advice`` where to look (empty: nowhere). ``share`` is of all
    estimates that were asked for.
    """

    code: int
    name: str
    reason: str
    words: str
    advice: str
    count: int
    share: str


class MinuteCount(Struct, frozen=True):
    """One minute: how many estimates were given and how many refused."""

    at: datetime
    answered: int
    refused: int


class EstimateSummary(Struct, frozen=True):
    """The estimates since ``since``. Refusals have the most frequent first; ``minutes`` has every minute."""

    since: datetime
    asked: int
    answered: int
    refusals: tuple[RefusalCount, ...]
    minutes: tuple[MinuteCount, ...]


def estimate_summary(database: Database, span: timedelta = timedelta(hours=1)) -> EstimateSummary:
    """How estimates ended in the whole minutes of the last ``span``, at most a day.

    Processes write their counts every few seconds, so the last ones are still missing.
    """
    last = minute_of(database.clock())
    first = last - min(span, LONGEST) // MINUTE + 1
    with reading(database.reads) as connection:
        rows = estimate_counts(connection, first)
    answered, refused = Counter[int](), Counter[int]()
    ends = Counter[tuple[int, str]]()
    for row in rows:
        if row.code:
            refused[row.minute] += row.asked
            ends[row.code, row.reason] += row.asked
        else:
            answered[row.minute] += row.asked
    asked = answered.total() + refused.total()
    return EstimateSummary(
        since=minute_start(first),
        asked=asked,
        answered=answered.total(),
        refusals=tuple(
            RefusalCount(
                code=code,
                name=_name(code),
                reason=reason,
                words=refusal_words(code, reason),
                advice=REFUSAL_ADVICE.get(reason, ""),
                count=count,
                share=share_down(count, asked),
            )
            for (code, reason), count in sorted(ends.items(), key=lambda end: (-end[1], end[0]))
        ),
        minutes=tuple(
            MinuteCount(minute_start(minute), answered[minute], refused[minute])
            for minute in range(first, last + 1)
        ),
    )


def _name(code: int) -> str:
    return ErrCode(code).name.removeprefix("ErrCode_") if code in set(ErrCode) else str(code)
