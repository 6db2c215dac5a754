"""Every error of the gateway, one row a reason: its code, its kind, its cause and what to do about it.

An error names its reason; the rest follows from the row. An interface answers each kind with one status of
its protocol. The OpenAPI document and docs/errors.md show these rows (docs/interface/answers.md#reasons).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from msgspec import Struct

from app.values.codes import ErrCode, Reason

_COMMON: Final = ErrCode.ERROR_CODE_COMMON

NOTHING: Final = "Nothing."
"""The message of a reason that users need not know."""

CODE_CAUSES: Final[dict[ErrCode, str]] = {
    ErrCode.ERROR_CODE_UNDEFINED: "Never sent as an error.",
    _COMMON: "Anything else: `X-Gateway-Reason` says what.",
    ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN: ("The destination chain lacks the token, or no route leads there."),
    ErrCode.ERROR_NO_TOKEN_ON_SRC_CHAIN: "The source chain lacks the token.",
    ErrCode.ERROR_CODE_NO_ENOUGH_TOKEN_ON_DST_CHAIN: "The destination pool holds too little of the token.",
    ErrCode.ERROR_CODE_INBOUND_LIQUIDITY_LIMIT: (
        "The amount is over the source pool's inbound limit or epoch volume cap."
    ),
    ErrCode.ERROR_CODE_TRANSFER_DISABLED: "The token is disabled between the two chains.",
    ErrCode.ERROR_CODE_BAD_LIQ_SLIPPAGE: "The slippage is out of range or too high.",
    ErrCode.ERROR_CODE_ADDRESS_BLOCKED: "The address is blocked as a security risk.",
    ErrCode.ERROR_CODE_BLOCK_BRIDGE_DIRECT: "The token is disabled in this direction.",
    ErrCode.ERROR_CODE_LIQ_OVER_CAP: "The amount is over the source pool's total cap.",
    ErrCode.ErrCode_ERROR_CODE_VPN_BLOCK: "The request comes from a blocked network, such as a VPN.",
}


class ErrorKind(Enum):
    """What an error means for the request."""

    ANSWERED = auto()
    """The request was understood; the answer to it is this error."""

    BAD_REQUEST = auto()
    UNAUTHORIZED = auto()
    FORBIDDEN = auto()
    NOT_FOUND = auto()
    METHOD_NOT_ALLOWED = auto()
    TOO_LARGE = auto()
    UNSUPPORTED_MEDIA = auto()
    RATE_LIMITED = auto()

    INTERNAL = auto()
    """The gateway failed."""

    UNAVAILABLE = auto()
    """The gateway cannot answer at the moment; the same request may succeed later."""


class ErrorRow(Struct, frozen=True):
    """What a reason means. ``cause``, ``remedy`` and ``user_message`` are Markdown, written for integrators.

    ``user_message`` is what to show to users; it names no reason of a block.
    """

    reason: Reason
    kind: ErrorKind
    code: ErrCode
    cause: str
    remedy: str
    user_message: str = ""


ERRORS: Final[tuple[ErrorRow, ...]] = (
    ErrorRow(
        Reason.BAD_REQUEST, ErrorKind.BAD_REQUEST, _COMMON,
        "A value is missing, repeated or malformed. With HTTP 414 or 431 the request line or the headers are "
        "too long.",
        "Correct the value that `msg` names.",
        "The app made a mistake. Nothing was sent.",
    ),
    ErrorRow(
        Reason.PATH_NOT_FOUND, ErrorKind.NOT_FOUND, _COMMON,
        "The path does not exist. The answer has `err` only.",
        "Compare the address with `/openapi.json`.",
        "The app made a mistake. Nothing was sent.",
    ),
    ErrorRow(
        Reason.METHOD_NOT_ALLOWED, ErrorKind.METHOD_NOT_ALLOWED, _COMMON,
        "The path does not support this method.",
        "Use a method of the `Allow` header.",
        "The app made a mistake. Nothing was sent.",
    ),
    ErrorRow(
        Reason.BODY_TOO_LARGE, ErrorKind.TOO_LARGE, _COMMON,
        "The body is over 64 KiB or, on the event feed, over the limit of an upload.",
        "Send only the fields of the operation, and events in smaller uploads.",
        "The app made a mistake. Nothing was sent.",
    ),
    ErrorRow(
        Reason.LINE_TOO_LONG, ErrorKind.TOO_LARGE, _COMMON,
        "A line of the event feed is over 64 KiB. The gateway may have accepted lines before it.",
        "Remove the line whose number is in `msg`, and send the rest again.",
        NOTHING,
    ),
    ErrorRow(
        Reason.UNSUPPORTED_MEDIA_TYPE, ErrorKind.UNSUPPORTED_MEDIA, _COMMON,
        "The event feed takes JSON lines, plain or gzip. With `COMPAT_CLIENTS=0`, a POST takes JSON, an "
        "estimate also a form.",
        "Send `Content-Type: application/json`, or `application/x-ndjson` for events.",
        "The app made a mistake. Nothing was sent.",
    ),
    ErrorRow(
        Reason.UNAUTHORIZED, ErrorKind.UNAUTHORIZED, _COMMON,
        "The event feed's token is missing or not valid, or the API key (`gwk_…`) is malformed, unknown or "
        "revoked.",
        "Send `Authorization: Bearer` with a valid token or key. Operations that only read need none.",
        "The app may not use the bridge. Tell its support.",
    ),
    ErrorRow(
        Reason.INSUFFICIENT_SCOPE, ErrorKind.FORBIDDEN, _COMMON,
        "The API key does not have the scope that `msg` names.",
        "Request a key with this scope from the operator.",
        "The app may not do this. Tell its support.",
    ),
    ErrorRow(
        Reason.RATE_LIMITED, ErrorKind.RATE_LIMITED, _COMMON,
        "This caller or API key sends too many requests, its network has too many waiting clients, or the "
        "quota of the reporter's token is used up.",
        "Wait the seconds in `Retry-After`.",
        "We try again in a moment.",
    ),
    ErrorRow(
        Reason.INTERNAL, ErrorKind.INTERNAL, _COMMON,
        "The gateway failed. Its log has the details.",
        "Try again once. Then send the operator the `X-Request-Id` of the answer.",
        "The bridge has a problem. Your money is where it was.",
    ),
    ErrorRow(
        Reason.UNAVAILABLE, ErrorKind.UNAVAILABLE, _COMMON,
        "The gateway cannot reach its database, or its copy of the configuration is too old.",
        "Try again after the seconds in `Retry-After`.",
        "The bridge does not answer now. We try again.",
    ),
    ErrorRow(
        Reason.WAIT_BUSY, ErrorKind.UNAVAILABLE, _COMMON,
        "Too many clients wait for transfers to change.",
        "Request `getTransferStatus` meanwhile, and wait again after the seconds in `Retry-After`.",
        NOTHING,
    ),
    ErrorRow(
        Reason.TRANSFER_NOT_FOUND, ErrorKind.ANSWERED, _COMMON,
        "The gateway does not know this transfer, or not yet.",
        "If `msg` shows that the source chain's newest event is older than the send, try again later. "
        "Otherwise check the id. If you sent a transaction hash, `X-Transfer-Id` has the transfer's id.",
        "Your transfer is not visible yet. That is normal in the first minutes.",
    ),
    ErrorRow(
        Reason.REFUND_NOT_AVAILABLE, ErrorKind.ANSWERED, _COMMON,
        "The transfer's status is not 6 to 10, or `withdraw_type` is not 1 (a refund).",
        "Request the refund only while the status is 6.",
        "There is nothing to refund now.",
    ),
    ErrorRow(
        Reason.NO_LATENCY_DATA, ErrorKind.ANSWERED, _COMMON,
        "No transfer between the two chains was released in the last 7 days.",
        "Show no expected time.",
        NOTHING,
    ),
    ErrorRow(
        Reason.WEBHOOK_NOT_FOUND, ErrorKind.ANSWERED, _COMMON,
        "The API key has no webhook with this id.",
        "List the key's webhooks with `GET /v2/webhooks`.",
        NOTHING,
    ),
    ErrorRow(
        Reason.NETWORK_BLOCKED, ErrorKind.ANSWERED, ErrCode.ErrCode_ERROR_CODE_VPN_BLOCK,
        "The request comes from a blocked network, such as a VPN.",
        "Ask the user to turn off the VPN.",
        "Transfers are not possible over this connection. Turn off your VPN.",
    ),
    ErrorRow(
        Reason.ADDRESS_BLOCKED, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_ADDRESS_BLOCKED,
        "`usr_addr`, `sender` or `receiver` is blocked as a security risk.",
        "Do not send the transfer. The user may contact the operator.",
        "Transfers are not possible with this address.",
    ),
    ErrorRow(
        Reason.SAME_CHAIN, ErrorKind.ANSWERED, _COMMON,
        "Source and destination are the same chain.",
        "Choose two different chains.",
        "Choose two different chains.",
    ),
    ErrorRow(
        Reason.CHAIN_UNKNOWN, ErrorKind.ANSWERED, _COMMON,
        "The gateway does not know one of the chain ids.",
        "Use the chain ids of `/v2/getTransferConfigs`.",
        "This chain is not supported.",
    ),
    ErrorRow(
        Reason.CHAIN_DISABLED, ErrorKind.ANSWERED, _COMMON,
        "One of the chains is disabled now.",
        "Choose another chain, or try again later.",
        "This chain is paused. Try again later, or choose another chain.",
    ),
    ErrorRow(
        Reason.TOKEN_NOT_ON_SRC, ErrorKind.ANSWERED, ErrCode.ERROR_NO_TOKEN_ON_SRC_CHAIN,
        "The source chain does not support the token.",
        "Use a symbol of `/v2/getTransferConfigs`, in its letter case. `msg` proposes a symbol, or names "
        "chains with the token.",
        "This token cannot be sent from this chain.",
    ),
    ErrorRow(
        Reason.TOKEN_NOT_ON_DST, ErrorKind.ANSWERED, ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN,
        "The destination chain does not support the token.",
        "Choose a destination in `msg`.",
        "This token cannot be received on this chain. Choose another destination.",
    ),
    ErrorRow(
        Reason.NO_ROUTE, ErrorKind.ANSWERED, ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN,
        "No pool route of the token leads from the source to the destination.",
        "Choose a destination in `msg`, or omit `is_pegged`.",
        "This token cannot be sent to this chain. Choose another destination.",
    ),
    ErrorRow(
        Reason.NO_PEGGED_PAIR, ErrorKind.ANSWERED, ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN,
        "`is_pegged` is true, but no pegged pair joins the chains.",
        "Omit `is_pegged`, or choose a pair of the pegged pair configs.",
        "This token cannot be sent to this chain. Choose another destination.",
    ),
    ErrorRow(
        Reason.TRANSFER_DISABLED, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_TRANSFER_DISABLED,
        "The token, or its pool, is disabled on one of the chains, or between them in both directions.",
        "Choose another token or chain, or try again later.",
        "Transfers of this token are paused between these chains. Try again later.",
    ),
    ErrorRow(
        Reason.DIRECTION_BLOCKED, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_BLOCK_BRIDGE_DIRECT,
        "The token is disabled in this direction.",
        "Choose another destination, or try again later.",
        "This token cannot be sent to this chain now. Choose another destination.",
    ),
    ErrorRow(
        Reason.AMOUNT_ZERO, ErrorKind.ANSWERED, _COMMON,
        "`amt` is 0.",
        "Ask the user for an amount.",
        "Enter an amount.",
    ),
    ErrorRow(
        Reason.AMOUNT_UNDER_MINIMUM, ErrorKind.ANSWERED, _COMMON,
        "The amount is under the token's `min_send` on the source chain, or the pegged pair's `min_deposit` "
        "or `min_burn`.",
        "Offer the amount in `msg`.",
        "The amount is too small.",
    ),
    ErrorRow(
        Reason.AMOUNT_OVER_MAXIMUM, ErrorKind.ANSWERED, _COMMON,
        "The amount is over the token's `max_send` on the source chain, or the pegged pair's `max_deposit` "
        "or `max_burn`.",
        "Offer the amount in `msg`.",
        "The amount is too large.",
    ),
    ErrorRow(
        Reason.AMOUNT_TOO_SMALL, ErrorKind.ANSWERED, _COMMON,
        "The fees use up the amount to be received.",
        "Offer the amount in `msg`.",
        "The fees would use up this amount.",
    ),
    ErrorRow(
        Reason.AMOUNT_TOO_LARGE, ErrorKind.ANSWERED, _COMMON,
        "A result would exceed 2^256-1.",
        "Ask the user for a smaller amount.",
        "The amount is too large.",
    ),
    ErrorRow(
        Reason.BAD_SLIPPAGE_TOLERANCE, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_BAD_LIQ_SLIPPAGE,
        "`slippage_tolerance` is not from 1 to 999999. Pool transfers only.",
        "Send a whole number of parts per million in that range.",
        "Choose a tolerance above 0 % and below 100 %.",
    ),
    ErrorRow(
        Reason.FEE_STALE, ErrorKind.ANSWERED, _COMMON,
        "The route's base fee is older than the operator allows, or a fee is not known.",
        "Try again in a few minutes.",
        "The fee is not known now. Try again in a few minutes.",
    ),
    ErrorRow(
        Reason.INBOUND_LIMIT, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_INBOUND_LIQUIDITY_LIMIT,
        "The amount is over the source pool's inbound limit (liquidity added minus relayed minus withdrawn).",
        "Offer the amount in `msg`.",
        "The bridge cannot take this amount now.",
    ),
    ErrorRow(
        Reason.EPOCH_CAP, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_INBOUND_LIQUIDITY_LIMIT,
        "The amount is over what is left of the source pool's volume cap in this epoch.",
        "Offer the amount in `msg`, or the next epoch.",
        "The bridge cannot take this amount now. Send less, or wait.",
    ),
    ErrorRow(
        Reason.TOTAL_CAP, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_LIQ_OVER_CAP,
        "The amount would take the source pool over its total cap.",
        "Offer the amount in `msg`.",
        "The bridge cannot take this amount now.",
    ),
    ErrorRow(
        Reason.NOT_ENOUGH_LIQUIDITY, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_NO_ENOUGH_TOKEN_ON_DST_CHAIN,
        "The destination pool holds too little of the token.",
        "Offer the amount in `msg`.",
        "The bridge cannot pay this amount on that chain now.",
    ),
    ErrorRow(
        Reason.CURVE_UNSETTLED, ErrorKind.ANSWERED, _COMMON,
        "The price curve does not converge for this amount and these pools.",
        "Ask the user for another amount, or try again later.",
        "There is no price for this amount now. Try another amount, or wait.",
    ),
    ErrorRow(
        Reason.SLIPPAGE_TOO_HIGH, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_BAD_LIQ_SLIPPAGE,
        "Fees and tolerance use up the whole amount: `max_slippage` would be 1000000 or more.",
        "Ask the user for a larger amount or a lower tolerance.",
        "Fees and price changes could use up the whole amount. Send more, or lower the tolerance.",
    ),
    ErrorRow(
        Reason.CONTRACT_UNKNOWN, ErrorKind.ANSWERED, _COMMON,
        "The configuration has no EVM address of the contract or token.",
        "Choose another token or chain. The operator can add the address.",
        "This transfer cannot be sent from here. Choose another token or chain.",
    ),
    ErrorRow(
        Reason.NOT_EVM, ErrorKind.ANSWERED, _COMMON,
        "One of the chains is no EVM chain, or `sender` or `receiver` is no EVM account (20 bytes).",
        "Send an address of 20 bytes. For other chains request `/v2/estimateAmt`, and make the transaction "
        "with a wallet of the chain.",
        "This transfer cannot be sent from here. Check the receiver, or choose another chain.",
    ),
    ErrorRow(
        Reason.NATIVE_REFUSED, ErrorKind.ANSWERED, _COMMON,
        "`native` is true, but the transfer burns its token, or the token does not wrap the chain's coin "
        "(`native_wrap` of the configs).",
        "Omit `native`, and send the token itself.",
        "Wrap the coin first, then send the wrapped token.",
    ),
    ErrorRow(
        Reason.SANDBOX, ErrorKind.ANSWERED, _COMMON,
        "The gateway holds the sandbox: its fees are invented, but its contracts are real.",
        "Try transactions with `make demo`, which has chains of its own, or with another gateway.",
        NOTHING,
    ),
)  # fmt: skip

_ROWS: Final[dict[Reason, ErrorRow]] = {row.reason: row for row in ERRORS}


def row_of(reason: Reason) -> ErrorRow:
    """The row of a reason; every reason has one."""
    return _ROWS[reason]
