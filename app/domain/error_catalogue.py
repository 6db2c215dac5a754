"""Every reason an error can have: for the OpenAPI document and docs/errors.md, which a test keeps equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.codes import ErrCode, Reason

COMMON: Final = ErrCode.ERROR_CODE_COMMON

CODE_CAUSES: Final[dict[ErrCode, str]] = {
    ErrCode.ERROR_CODE_UNDEFINED: "Placeholder; never sent as an error.",
    COMMON: "The chain is disabled, or one of the other reasons below: look at X-Gateway-Reason.",
    ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN: "The token is not supported on the destination chain.",
    ErrCode.ERROR_NO_TOKEN_ON_SRC_CHAIN: "The token is not supported on the source chain.",
    ErrCode.ERROR_CODE_NO_ENOUGH_TOKEN_ON_DST_CHAIN: (
        "The destination chain holds too little of the token. Pool transfers only."
    ),
    ErrCode.ERROR_CODE_INBOUND_LIQUIDITY_LIMIT: (
        "The source pool's inbound limit or epoch volume cap is reached. Pool transfers only: "
        "the user must lower the amount."
    ),
    ErrCode.ERROR_CODE_TRANSFER_DISABLED: (
        "Transfers of the token between the two chains are disabled in both directions."
    ),
    ErrCode.ERROR_CODE_BAD_LIQ_SLIPPAGE: "Bad slippage.",
    ErrCode.ERROR_CODE_ADDRESS_BLOCKED: "The address is blocked as a security risk.",
    ErrCode.ERROR_CODE_BLOCK_BRIDGE_DIRECT: (
        "Transfers of the token from the source to the destination chain are disabled in this direction."
    ),
    ErrCode.ERROR_CODE_LIQ_OVER_CAP: (
        "The source pool's total cap is reached. Pool transfers only: the user must lower the amount."
    ),
    ErrCode.ErrCode_ERROR_CODE_VPN_BLOCK: "A VPN may not be used when asking for an estimate.",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What a reason means. ``http`` is the status it comes with."""

    reason: Reason
    http: int
    code: ErrCode
    cause: str
    remedy: str


CATALOGUE: Final[tuple[Entry, ...]] = (
    Entry(
        Reason.BAD_REQUEST, 400, COMMON,
        "The request cannot be read: a value is missing, repeated or of the wrong form.",
        "Correct the value that `msg` names. Sending the same again fails again.",
    ),
    Entry(
        Reason.PATH_NOT_FOUND, 404, COMMON,
        "There is nothing at this path. `err` comes alone.",
        "Check the base address and the path.",
    ),
    Entry(
        Reason.METHOD_NOT_ALLOWED, 405, COMMON,
        "The path exists, but not for this method.",
        "Use a method from the `Allow` header.",
    ),
    Entry(
        Reason.BODY_TOO_LARGE, 413, COMMON,
        "The body is larger than 64 KiB; of the event feed: than it takes at once.",
        "Send the operation's few fields alone; events in smaller portions.",
    ),
    Entry(
        Reason.LINE_TOO_LONG, 413, COMMON,
        "A line of the event feed is longer than 64 KiB. Lines before it may have been accepted.",
        "Leave out the line that `msg` numbers, and send the rest again.",
    ),
    Entry(
        Reason.UNSUPPORTED_MEDIA_TYPE, 415, COMMON,
        "The POST does not say that its body is JSON; of the event feed: lines of JSON, plain or in gzip.",
        "Send `Content-Type: application/json`; events as `application/x-ndjson`.",
    ),
    Entry(
        Reason.UNAUTHORIZED, 401, COMMON,
        "The event feed needs a token, and none was sent or it is not valid. No other path asks for one.",
        "Send `Authorization: Bearer` and a token that the operator made.",
    ),
    Entry(
        Reason.RATE_LIMITED, 429, COMMON,
        "This caller asks too often.",
        "Wait the seconds that `Retry-After` says.",
    ),
    Entry(
        Reason.INTERNAL, 500, COMMON,
        "The gateway failed. Its operator finds the details in the log.",
        "Try again; if it stays, tell the operator the time and the path.",
    ),
    Entry(
        Reason.UNAVAILABLE, 503, COMMON,
        "The gateway cannot answer right now: its database is out of reach or its view of the "
        "configuration is too old to be right.",
        "Try again after the seconds that `Retry-After` says.",
    ),
    Entry(
        Reason.TRANSFER_NOT_FOUND, 200, COMMON,
        "No transfer with this id is known (yet).",
        "Compare the ages in `msg` with the time of sending: when the chain's newest event is older, "
        "ask again later. When it is not, check the id.",
    ),
    Entry(
        Reason.NO_LATENCY_DATA, 200, COMMON,
        "No transfer between the two chains was released in the last 7 days.",
        "Show no time; ask again another day.",
    ),
    Entry(
        Reason.NETWORK_BLOCKED, 200, ErrCode.ErrCode_ERROR_CODE_VPN_BLOCK,
        "The request comes from a network that is not served, such as a VPN's exit.",
        "Have the user turn the VPN off.",
    ),
    Entry(
        Reason.ADDRESS_BLOCKED, 200, ErrCode.ERROR_CODE_ADDRESS_BLOCKED,
        "`usr_addr` is blocked as a security risk.",
        "Do not send. The user may contact the operator.",
    ),
    Entry(
        Reason.SAME_CHAIN, 200, COMMON,
        "Source and destination are the same chain.",
        "Choose two different chains.",
    ),
    Entry(
        Reason.CHAIN_UNKNOWN, 200, COMMON,
        "A chain id is not one of the gateway's.",
        "Take chain ids from `/v2/getTransferConfigs`.",
    ),
    Entry(
        Reason.CHAIN_DISABLED, 200, COMMON,
        "One of the chains is disabled at the moment.",
        "Choose another chain, or ask again later.",
    ),
    Entry(
        Reason.TOKEN_NOT_ON_SRC, 200, ErrCode.ERROR_NO_TOKEN_ON_SRC_CHAIN,
        "The token is not supported on the source chain.",
        "Take symbols from `/v2/getTransferConfigs`; `msg` names chains that have it.",
    ),
    Entry(
        Reason.TOKEN_NOT_ON_DST, 200, ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN,
        "The token is not supported on the destination chain.",
        "Choose a destination that `msg` names.",
    ),
    Entry(
        Reason.NO_ROUTE, 200, ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN,
        "Both chains have the token, but no pool route joins them in this direction.",
        "Choose a destination that `msg` names, or leave `is_pegged` out.",
    ),
    Entry(
        Reason.NO_PEGGED_PAIR, 200, ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN,
        "`is_pegged` is true, but there is no pegged pair between the two chains.",
        "Leave `is_pegged` out, or choose a pair from the pegged pair configs.",
    ),
    Entry(
        Reason.TRANSFER_DISABLED, 200, ErrCode.ERROR_CODE_TRANSFER_DISABLED,
        "Transfers of the token are disabled on a chain, or between the two in both directions.",
        "Choose another token or chain, or ask again later.",
    ),
    Entry(
        Reason.DIRECTION_BLOCKED, 200, ErrCode.ERROR_CODE_BLOCK_BRIDGE_DIRECT,
        "Transfers of the token are disabled in this direction.",
        "Choose another destination, or ask again later.",
    ),
    Entry(
        Reason.AMOUNT_ZERO, 200, COMMON,
        "`amt` is 0.",
        "Have the user enter an amount.",
    ),
    Entry(
        Reason.AMOUNT_TOO_SMALL, 200, COMMON,
        "The fees are as large as what would be received, or larger.",
        "Have the user raise the amount to at least what `msg` says.",
    ),
    Entry(
        Reason.AMOUNT_TOO_LARGE, 200, COMMON,
        "A result would be over 2^256-1.",
        "Have the user lower the amount.",
    ),
    Entry(
        Reason.BAD_SLIPPAGE_TOLERANCE, 200, ErrCode.ERROR_CODE_BAD_LIQ_SLIPPAGE,
        "`slippage_tolerance` is not from 1 to 999999. Pool transfers only.",
        "Send a whole number of parts per million in that range.",
    ),
    Entry(
        Reason.FEE_STALE, 200, COMMON,
        "The route's base fee is older than the operator allows.",
        "Ask again in a few minutes, when it has been renewed.",
    ),
    Entry(
        Reason.INBOUND_LIMIT, 200, ErrCode.ERROR_CODE_INBOUND_LIQUIDITY_LIMIT,
        "The amount is over the source pool's inbound limit: liquidity added minus relayed minus withdrawn.",
        "Have the user lower the amount to what `msg` says.",
    ),
    Entry(
        Reason.EPOCH_CAP, 200, ErrCode.ERROR_CODE_INBOUND_LIQUIDITY_LIMIT,
        "The amount does not fit into the source pool's volume cap of the current epoch.",
        "Have the user lower the amount to what `msg` says, or wait for the next epoch.",
    ),
    Entry(
        Reason.TOTAL_CAP, 200, ErrCode.ERROR_CODE_LIQ_OVER_CAP,
        "The amount would put the source pool over its total cap.",
        "Have the user lower the amount to what `msg` says.",
    ),
    Entry(
        Reason.NOT_ENOUGH_LIQUIDITY, 200, ErrCode.ERROR_CODE_NO_ENOUGH_TOKEN_ON_DST_CHAIN,
        "The destination pool holds too little of the token.",
        "Have the user lower the amount to what `msg` says.",
    ),
    Entry(
        Reason.CURVE_UNSETTLED, 200, COMMON,
        "The price curve has no stable answer for this amount and these pools.",
        "Have the user change the amount, or ask again later.",
    ),
    Entry(
        Reason.SLIPPAGE_TOO_HIGH, 200, ErrCode.ERROR_CODE_BAD_LIQ_SLIPPAGE,
        "Fees and tolerance leave nothing of the amount: `max_slippage` would be 1000000 or more.",
        "Have the user raise the amount, or lower the tolerance.",
    ),
)  # fmt: skip
