"""Every error of the gateway, one row a reason: its code, its kind, its cause and what to do about it.

An error names its reason; everything else follows from the row. A door answers each kind with one status
of its protocol. The OpenAPI document and docs/errors.md show these rows (docs/interface.md#reasons).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from app.domain.codes import ErrCode, Reason

_COMMON: Final = ErrCode.ERROR_CODE_COMMON

CODE_CAUSES: Final[dict[ErrCode, str]] = {
    ErrCode.ERROR_CODE_UNDEFINED: "Placeholder; never sent as an error.",
    _COMMON: "The chain is disabled, or one of the other reasons below: look at X-Gateway-Reason.",
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


class ErrorKind(Enum):
    """What an error says about the request."""

    ANSWERED = auto()
    """The request was understood; the answer to it is this error."""

    BAD_REQUEST = auto()
    UNAUTHORIZED = auto()
    NOT_FOUND = auto()
    METHOD_NOT_ALLOWED = auto()
    TOO_LARGE = auto()
    UNSUPPORTED_MEDIA = auto()
    RATE_LIMITED = auto()

    INTERNAL = auto()
    """The gateway failed."""

    UNAVAILABLE = auto()
    """The gateway cannot answer at the moment; the same request may succeed later."""


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """What a reason means. ``cause`` and ``remedy`` are Markdown, written for integrators."""

    reason: Reason
    kind: ErrorKind
    code: ErrCode
    cause: str
    remedy: str


ERRORS: Final[tuple[ErrorRow, ...]] = (
    ErrorRow(
        Reason.BAD_REQUEST, ErrorKind.BAD_REQUEST, _COMMON,
        "The request cannot be read: a value is missing, repeated or of the wrong form. With HTTP 414 or 431 "
        "its first line or its headers are too long.",
        "Correct the value that `msg` names. Sending the same again fails again.",
    ),
    ErrorRow(
        Reason.PATH_NOT_FOUND, ErrorKind.NOT_FOUND, _COMMON,
        "There is nothing at this path. `err` comes alone.",
        "Check the base address and the path.",
    ),
    ErrorRow(
        Reason.METHOD_NOT_ALLOWED, ErrorKind.METHOD_NOT_ALLOWED, _COMMON,
        "The path exists, but not for this method.",
        "Use a method from the `Allow` header.",
    ),
    ErrorRow(
        Reason.BODY_TOO_LARGE, ErrorKind.TOO_LARGE, _COMMON,
        "The body is larger than 64 KiB; of the event feed: than it takes at once.",
        "Send the operation's few fields alone; events in smaller portions.",
    ),
    ErrorRow(
        Reason.LINE_TOO_LONG, ErrorKind.TOO_LARGE, _COMMON,
        "A line of the event feed is longer than 64 KiB. Lines before it may have been accepted.",
        "Leave out the line that `msg` numbers, and send the rest again.",
    ),
    ErrorRow(
        Reason.UNSUPPORTED_MEDIA_TYPE, ErrorKind.UNSUPPORTED_MEDIA, _COMMON,
        "The POST does not say that its body is JSON; of an estimate: JSON or a form; of the event feed: "
        "lines of JSON, plain or in gzip.",
        "Send `Content-Type: application/json`; events as `application/x-ndjson`.",
    ),
    ErrorRow(
        Reason.UNAUTHORIZED, ErrorKind.UNAUTHORIZED, _COMMON,
        "The event feed needs a token, and none was sent or it is not valid. No other path asks for one.",
        "Send `Authorization: Bearer` and a token that the operator made.",
    ),
    ErrorRow(
        Reason.RATE_LIMITED, ErrorKind.RATE_LIMITED, _COMMON,
        "This caller asks too often, or this reporter has reported as much as its token allows in a period.",
        "Wait the seconds that `Retry-After` says.",
    ),
    ErrorRow(
        Reason.INTERNAL, ErrorKind.INTERNAL, _COMMON,
        "The gateway failed. Its operator finds the details in the log.",
        "Try again; if it stays, tell the operator the time and the path.",
    ),
    ErrorRow(
        Reason.UNAVAILABLE, ErrorKind.UNAVAILABLE, _COMMON,
        "The gateway cannot answer right now: its database is out of reach or its view of the "
        "configuration is too old to be right.",
        "Try again after the seconds that `Retry-After` says.",
    ),
    ErrorRow(
        Reason.TRANSFER_NOT_FOUND, ErrorKind.ANSWERED, _COMMON,
        "No transfer with this id is known (yet).",
        "Compare the ages and blocks in `msg` with the time and block of sending: when the chain's newest "
        "event is older, ask again later. When it is not, check the id.",
    ),
    ErrorRow(
        Reason.REFUND_NOT_AVAILABLE, ErrorKind.ANSWERED, _COMMON,
        "The transfer is not to be refunded (its status is not 6), or `withdraw_type` is not 1: nothing else "
        "is paid out here.",
        "Ask for the transfer's status; ask for its refund when that is 6.",
    ),
    ErrorRow(
        Reason.NO_LATENCY_DATA, ErrorKind.ANSWERED, _COMMON,
        "No transfer between the two chains was released in the last 7 days.",
        "Show no time; ask again another day.",
    ),
    ErrorRow(
        Reason.NETWORK_BLOCKED, ErrorKind.ANSWERED, ErrCode.ErrCode_ERROR_CODE_VPN_BLOCK,
        "The request comes from a network that is not served, such as a VPN's exit.",
        "Have the user turn the VPN off.",
    ),
    ErrorRow(
        Reason.ADDRESS_BLOCKED, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_ADDRESS_BLOCKED,
        "`usr_addr` is blocked as a security risk.",
        "Do not send. The user may contact the operator.",
    ),
    ErrorRow(
        Reason.SAME_CHAIN, ErrorKind.ANSWERED, _COMMON,
        "Source and destination are the same chain.",
        "Choose two different chains.",
    ),
    ErrorRow(
        Reason.CHAIN_UNKNOWN, ErrorKind.ANSWERED, _COMMON,
        "A chain id is not one of the gateway's.",
        "Take chain ids from `/v2/getTransferConfigs`.",
    ),
    ErrorRow(
        Reason.CHAIN_DISABLED, ErrorKind.ANSWERED, _COMMON,
        "One of the chains is disabled at the moment.",
        "Choose another chain, or ask again later.",
    ),
    ErrorRow(
        Reason.TOKEN_NOT_ON_SRC, ErrorKind.ANSWERED, ErrCode.ERROR_NO_TOKEN_ON_SRC_CHAIN,
        "The token is not supported on the source chain.",
        "Take symbols from `/v2/getTransferConfigs`; `msg` names chains that have it.",
    ),
    ErrorRow(
        Reason.TOKEN_NOT_ON_DST, ErrorKind.ANSWERED, ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN,
        "The token is not supported on the destination chain.",
        "Choose a destination that `msg` names.",
    ),
    ErrorRow(
        Reason.NO_ROUTE, ErrorKind.ANSWERED, ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN,
        "Both chains have the token, but no pool route joins them in this direction.",
        "Choose a destination that `msg` names, or leave `is_pegged` out.",
    ),
    ErrorRow(
        Reason.NO_PEGGED_PAIR, ErrorKind.ANSWERED, ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN,
        "`is_pegged` is true, but there is no pegged pair between the two chains.",
        "Leave `is_pegged` out, or choose a pair from the pegged pair configs.",
    ),
    ErrorRow(
        Reason.TRANSFER_DISABLED, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_TRANSFER_DISABLED,
        "Transfers of the token, or those through its pool, are disabled on a chain, or between the two in "
        "both directions.",
        "Choose another token or chain, or ask again later.",
    ),
    ErrorRow(
        Reason.DIRECTION_BLOCKED, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_BLOCK_BRIDGE_DIRECT,
        "Transfers of the token are disabled in this direction.",
        "Choose another destination, or ask again later.",
    ),
    ErrorRow(
        Reason.AMOUNT_ZERO, ErrorKind.ANSWERED, _COMMON,
        "`amt` is 0.",
        "Have the user enter an amount.",
    ),
    ErrorRow(
        Reason.AMOUNT_UNDER_MINIMUM, ErrorKind.ANSWERED, _COMMON,
        "The amount is under the `min_send` of the token on the source chain.",
        "Have the user raise the amount to at least what `msg` says.",
    ),
    ErrorRow(
        Reason.AMOUNT_OVER_MAXIMUM, ErrorKind.ANSWERED, _COMMON,
        "The amount is over the `max_send` of the token on the source chain.",
        "Have the user lower the amount to at most what `msg` says.",
    ),
    ErrorRow(
        Reason.AMOUNT_TOO_SMALL, ErrorKind.ANSWERED, _COMMON,
        "The fees are as large as what would be received, or larger.",
        "Have the user raise the amount to at least what `msg` says.",
    ),
    ErrorRow(
        Reason.AMOUNT_TOO_LARGE, ErrorKind.ANSWERED, _COMMON,
        "A result would be over 2^256-1.",
        "Have the user lower the amount.",
    ),
    ErrorRow(
        Reason.BAD_SLIPPAGE_TOLERANCE, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_BAD_LIQ_SLIPPAGE,
        "`slippage_tolerance` is not from 1 to 999999. Pool transfers only.",
        "Send a whole number of parts per million in that range.",
    ),
    ErrorRow(
        Reason.FEE_STALE, ErrorKind.ANSWERED, _COMMON,
        "The route's base fee is older than the operator allows, or a fee of the transfer is not known.",
        "Ask again in a few minutes, when it has been renewed, or later, when it has been set.",
    ),
    ErrorRow(
        Reason.INBOUND_LIMIT, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_INBOUND_LIQUIDITY_LIMIT,
        "The amount is over the source pool's inbound limit: liquidity added minus relayed minus withdrawn.",
        "Have the user lower the amount to what `msg` says.",
    ),
    ErrorRow(
        Reason.EPOCH_CAP, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_INBOUND_LIQUIDITY_LIMIT,
        "The amount does not fit into the source pool's volume cap of the current epoch.",
        "Have the user lower the amount to what `msg` says, or wait for the next epoch.",
    ),
    ErrorRow(
        Reason.TOTAL_CAP, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_LIQ_OVER_CAP,
        "The amount would put the source pool over its total cap.",
        "Have the user lower the amount to what `msg` says.",
    ),
    ErrorRow(
        Reason.NOT_ENOUGH_LIQUIDITY, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_NO_ENOUGH_TOKEN_ON_DST_CHAIN,
        "The destination pool holds too little of the token.",
        "Have the user lower the amount to what `msg` says.",
    ),
    ErrorRow(
        Reason.CURVE_UNSETTLED, ErrorKind.ANSWERED, _COMMON,
        "The price curve has no stable answer for this amount and these pools.",
        "Have the user change the amount, or ask again later.",
    ),
    ErrorRow(
        Reason.SLIPPAGE_TOO_HIGH, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_BAD_LIQ_SLIPPAGE,
        "Fees and tolerance leave nothing of the amount: `max_slippage` would be 1000000 or more.",
        "Have the user raise the amount, or lower the tolerance.",
    ),
)  # fmt: skip

_ROWS: Final[dict[Reason, ErrorRow]] = {row.reason: row for row in ERRORS}


def row_of(reason: Reason) -> ErrorRow:
    """The row of a reason; every reason has one."""
    return _ROWS[reason]
