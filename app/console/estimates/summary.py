"""How the estimates of the last hour ended, and the console's words for outcomes, ways and refusals."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from app.db.database import Database
from app.db.engine import run_read
from app.estimates.queries import estimate_counts
from app.estimates.rules.explanation import CheckOutcome
from app.refunds.rules.waits import share_down
from app.values.codes import BridgeType, ErrCode, Reason
from app.values.times import MINUTE, minute_of, minute_start

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


class RefusalWords(Struct, frozen=True):
    """Why an estimate is refused, and where to look, if operators can do something about it."""

    words: str
    advice: str = ""


REFUSAL_WORDS: Final[dict[str, RefusalWords]] = {
    Reason.BAD_REQUEST: RefusalWords(
        "The request could not be read",
        "A client sends something that the API does not have.",
    ),
    Reason.NETWORK_BLOCKED: RefusalWords("The client's network is blocked", "See Blocks, Networks."),
    Reason.ADDRESS_BLOCKED: RefusalWords("The user's address is blocked", "See Blocks, Addresses."),
    Reason.SAME_CHAIN: RefusalWords("Source and destination are the same chain"),
    Reason.CHAIN_UNKNOWN: RefusalWords(
        "A chain is not known",
        "Clients use a chain that is not configured here.",
    ),
    Reason.CHAIN_DISABLED: RefusalWords(
        "A chain is stopped",
        "It stays stopped until an operator resumes it.",
    ),
    Reason.TOKEN_NOT_ON_SRC: RefusalWords("The source chain does not have the token"),
    Reason.TOKEN_NOT_ON_DST: RefusalWords("The destination chain does not have the token"),
    Reason.NO_ROUTE: RefusalWords(
        "No route connects the chains",
        "Clients offer a route that is not configured here.",
    ),
    Reason.NO_PEGGED_PAIR: RefusalWords(
        "No pegged pair connects the chains",
        "Clients offer a route that is not configured here.",
    ),
    Reason.TRANSFER_DISABLED: RefusalWords(
        "Transfers of the token are disabled",
        "Enable the token on its page.",
    ),
    Reason.DIRECTION_BLOCKED: RefusalWords("This direction is blocked", "See Blocks, Routes."),
    Reason.CONTRACT_UNKNOWN: RefusalWords(
        "The network document lacks an address that a transaction needs",
        "Enter the contract and the tokens of the chain. Estimates are answered without them.",
    ),
    Reason.NOT_EVM: RefusalWords("A transaction was requested for a chain that is no EVM chain"),
    Reason.NATIVE_REFUSED: RefusalWords(
        "Native coin cannot be sent this way",
        "Enter native_wrap of the chain if its bridge takes native coin.",
    ),
    Reason.SANDBOX: RefusalWords("A transaction was requested of the sandbox"),
    Reason.AMOUNT_ZERO: RefusalWords("The amount is 0"),
    Reason.AMOUNT_UNDER_MINIMUM: RefusalWords(
        "The amount is below the token's minimum",
        "The minimum is set on the token's page.",
    ),
    Reason.AMOUNT_OVER_MAXIMUM: RefusalWords(
        "The amount is above the token's maximum",
        "The maximum is set on the token's page.",
    ),
    Reason.AMOUNT_TOO_SMALL: RefusalWords(
        "The fees leave nothing of the amount",
        "If this is frequent, check the base fee of the route.",
    ),
    Reason.AMOUNT_TOO_LARGE: RefusalWords("The amount is too large for the contract"),
    Reason.BAD_SLIPPAGE_TOLERANCE: RefusalWords("The slippage tolerance is not allowed"),
    Reason.FEE_STALE: RefusalWords(
        "The base fee is too old or not known",
        "The fee is not reported any more: check the chain freshness, then the route.",
    ),
    Reason.INBOUND_LIMIT: RefusalWords(
        "Over the source pool's inbound limit",
        "Liquidity was withdrawn, or most transfers are in one direction.",
    ),
    Reason.EPOCH_CAP: RefusalWords(
        "Over the source pool's epoch cap",
        "The pool accepts more when its next epoch starts.",
    ),
    Reason.TOTAL_CAP: RefusalWords(
        "Over the source pool's total cap",
        "The pool accepts more after transfers back, or with a higher cap.",
    ),
    Reason.NOT_ENOUGH_LIQUIDITY: RefusalWords(
        "The destination pool holds too little",
        "The pool needs liquidity, or transfers in the other direction.",
    ),
    Reason.CURVE_UNSETTLED: RefusalWords(
        "The curve has no price",
        "The pools of the route are far out of balance.",
    ),
    Reason.SLIPPAGE_TOO_HIGH: RefusalWords(
        "The slippage would be too high",
        "The pools of the route are out of balance.",
    ),
    Reason.UNAVAILABLE: RefusalWords(
        "The gateway could not answer at that moment",
        "The database did not answer. The log has the details.",
    ),
    Reason.INTERNAL: RefusalWords(
        "Something went wrong in the gateway",
        "This is a fault of the gateway. The log has the details.",
    ),
}
"""By the reason."""


def refusal_words(code: int, reason: str) -> str:
    """Why estimates were refused, for people. Without a known reason it is the name of the code."""
    if reason in REFUSAL_WORDS:
        return REFUSAL_WORDS[reason].words
    name = ErrCode(code).name if code in set(ErrCode) else ""
    words = reason or name.removeprefix("ErrCode_").removeprefix("ERROR_CODE_").lower()
    return (words or f"code {code}").replace("_", " ").capitalize()


class RefusalCount(Struct, frozen=True):
    """Refusals with the same code and reason.

    ``words`` say the reason for people, ``advice`` where to look (empty: nowhere). ``share`` is of all
    requested estimates.
    """

    code: int
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
    """The estimates of some minutes. The most frequent refusals are first; ``minutes`` has every minute."""

    requested: int
    answered: int
    refusals: tuple[RefusalCount, ...]
    minutes: tuple[MinuteCount, ...]


def estimate_summary(database: Database) -> EstimateSummary:
    """How estimates ended in the whole minutes of the last hour.

    Processes write their counts every few seconds, so the last ones are still missing.
    """
    last = minute_of(database.clock())
    first = last - timedelta(hours=1) // MINUTE + 1
    answered, refused = Counter[int](), Counter[int]()
    ends = Counter[tuple[int, str]]()
    for row in run_read(database.reads, estimate_counts, first):
        if row.code:
            refused[row.minute] += row.requested
            ends[row.code, row.reason] += row.requested
        else:
            answered[row.minute] += row.requested
    requested = answered.total() + refused.total()
    return EstimateSummary(
        requested=requested,
        answered=answered.total(),
        refusals=tuple(
            RefusalCount(
                code,
                refusal_words(code, reason),
                REFUSAL_WORDS[reason].advice if reason in REFUSAL_WORDS else "",
                count,
                share_down(count, requested),
            )
            for (code, reason), count in sorted(ends.items(), key=lambda end: (-end[1], end[0]))
        ),
        minutes=tuple(
            MinuteCount(minute_start(minute), answered[minute], refused[minute])
            for minute in range(first, last + 1)
        ),
    )
