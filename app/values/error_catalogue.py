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

CODE_CAUSES: Final[dict[ErrCode, str]] = {
    ErrCode.ERROR_CODE_UNDEFINED: "Placeholder; never sent as an error.",
    _COMMON: "The chain is disabled, or another reason below applies: see X-Gateway-Reason.",
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
    ErrCode.ERROR_CODE_BAD_LIQ_SLIPPAGE: "The slippage is out of range or too high.",
    ErrCode.ERROR_CODE_ADDRESS_BLOCKED: "The address is blocked as a security risk.",
    ErrCode.ERROR_CODE_BLOCK_BRIDGE_DIRECT: (
        "Transfers of the token from the source to the destination chain are disabled in this direction."
    ),
    ErrCode.ERROR_CODE_LIQ_OVER_CAP: (
        "The source pool's total cap is reached. Pool transfers only: the user must lower the amount."
    ),
    ErrCode.ErrCode_ERROR_CODE_VPN_BLOCK: "VPN use is not allowed when requesting an estimate.",
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

    ``user_message`` is a sentence for users, or what to say to them; it names no reason of a block.
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
        "The request cannot be read: a value is missing, repeated or malformed. With HTTP 414 or 431 the "
        "request line or the headers are too long.",
        "Correct the value that `msg` names. The same request will fail again.",
        "The app could not ask the bridge. Nothing was sent.",
    ),
    ErrorRow(
        Reason.PATH_NOT_FOUND, ErrorKind.NOT_FOUND, _COMMON,
        "The path does not exist. The answer has `err` alone.",
        "Check the base address and the path; `/docs/` and `/openapi.json` describe what there is.",
        "The app could not ask the bridge. Nothing was sent.",
    ),
    ErrorRow(
        Reason.METHOD_NOT_ALLOWED, ErrorKind.METHOD_NOT_ALLOWED, _COMMON,
        "The path does not support this method.",
        "Use a method that `msg` and the `Allow` header name.",
        "The app could not ask the bridge. Nothing was sent.",
    ),
    ErrorRow(
        Reason.BODY_TOO_LARGE, ErrorKind.TOO_LARGE, _COMMON,
        "The body is larger than 64 KiB, or, on the event feed, larger than one request may be.",
        "Send only the fields of the operation. Send events in smaller batches.",
        "The app could not ask the bridge. Nothing was sent.",
    ),
    ErrorRow(
        Reason.LINE_TOO_LONG, ErrorKind.TOO_LARGE, _COMMON,
        "A line of the event feed is longer than 64 KiB. Lines before it may have been accepted.",
        "Remove the line whose number `msg` gives, and send the rest again.",
        "Nothing: only reporters of events see it.",
    ),
    ErrorRow(
        Reason.UNSUPPORTED_MEDIA_TYPE, ErrorKind.UNSUPPORTED_MEDIA, _COMMON,
        "The event feed got something that is not declared as JSON lines, plain or gzip. With "
        "`COMPAT_CLIENTS=0`: a POST is not declared as JSON (for an estimate: JSON or a form).",
        "Send `Content-Type: application/json`, or `application/x-ndjson` for events.",
        "The app could not ask the bridge. Nothing was sent.",
    ),
    ErrorRow(
        Reason.UNAUTHORIZED, ErrorKind.UNAUTHORIZED, _COMMON,
        "The event feed requires a token, and it is missing or not valid. Or the API key that was sent "
        "(`gwk_…`) is malformed, unknown or revoked. The operations that only read require no key.",
        "Send `Authorization: Bearer` and a token or key created by the operator. Where no key is required, "
        "you may also leave the header out.",
        "The app is not allowed to ask the bridge. Tell its support.",
    ),
    ErrorRow(
        Reason.INSUFFICIENT_SCOPE, ErrorKind.FORBIDDEN, _COMMON,
        "The API key is valid, but it does not have the scope that the operation needs; `msg` names it.",
        "Ask the operator for a key with this scope. Where no key is required, leave the header out.",
        "The app is not allowed to do this. Tell its support.",
    ),
    ErrorRow(
        Reason.RATE_LIMITED, ErrorKind.RATE_LIMITED, _COMMON,
        "Too many requests from this caller or with this API key. Or too many clients of the caller's "
        "network wait for transfers to change, or the quota of the reporter's token is used up.",
        "Wait for the number of seconds in `Retry-After`.",
        "Too many requests. We try again in a moment.",
    ),
    ErrorRow(
        Reason.INTERNAL, ErrorKind.INTERNAL, _COMMON,
        "The gateway failed. Its operator finds the details in the log.",
        "Try again. If the error persists, send the operator the time and the path.",
        "The bridge has a problem. Your money is where it was; try again later.",
    ),
    ErrorRow(
        Reason.UNAVAILABLE, ErrorKind.UNAVAILABLE, _COMMON,
        "The gateway is temporarily unavailable: its database cannot be reached, or its copy of the "
        "configuration is too old.",
        "Try again after the number of seconds in `Retry-After`.",
        "The bridge does not answer at the moment. We try again in a few seconds.",
    ),
    ErrorRow(
        Reason.WAIT_BUSY, ErrorKind.UNAVAILABLE, _COMMON,
        "Too many callers wait already for transfers to change.",
        "Ask `getTransferStatus` meanwhile, and wait again after the number of seconds in `Retry-After`.",
        "Nothing: the app asks again by itself.",
    ),
    ErrorRow(
        Reason.TRANSFER_NOT_FOUND, ErrorKind.ANSWERED, _COMMON,
        "No transfer with this id is known, or none yet.",
        "Compare the times and blocks in `msg` with those of the send. If the chain's newest event is older "
        "than the send, try again later; otherwise check the id. Of the hash of a transaction `msg` and "
        "`X-Transfer-Id` name the transfer.",
        "Your transfer is not visible yet. That is normal in the first minutes after sending.",
    ),
    ErrorRow(
        Reason.REFUND_NOT_AVAILABLE, ErrorKind.ANSWERED, _COMMON,
        "The transfer cannot be refunded (its status is not 6), or `withdraw_type` is not 1: only refunds "
        "can be requested.",
        "Get the transfer's status, and request the refund while it is 6.",
        "There is nothing to refund at the moment.",
    ),
    ErrorRow(
        Reason.NO_LATENCY_DATA, ErrorKind.ANSWERED, _COMMON,
        "No transfer between the two chains was released in the last 7 days.",
        "Show no time, and try again another day.",
        "Nothing: show no expected time.",
    ),
    ErrorRow(
        Reason.WEBHOOK_NOT_FOUND, ErrorKind.ANSWERED, _COMMON,
        "The API key has no webhook with this id.",
        "List the webhooks of the key with `GET /v2/webhooks`; one that was removed is gone.",
        "Nothing: this is between your server and the gateway.",
    ),
    ErrorRow(
        Reason.NETWORK_BLOCKED, ErrorKind.ANSWERED, ErrCode.ErrCode_ERROR_CODE_VPN_BLOCK,
        "The request comes from a blocked network, such as a VPN.",
        "Ask the user to turn off the VPN.",
        "Transfers are not possible over this connection. Turn off your VPN and try again.",
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
        "Use the chain ids in `/v2/getTransferConfigs`.",
        "This chain is not supported.",
    ),
    ErrorRow(
        Reason.CHAIN_DISABLED, ErrorKind.ANSWERED, _COMMON,
        "One of the chains is disabled at this moment.",
        "Choose another chain, or try again later.",
        "Transfers from or to this chain are paused. Try again later, or choose another chain.",
    ),
    ErrorRow(
        Reason.TOKEN_NOT_ON_SRC, ErrorKind.ANSWERED, ErrCode.ERROR_NO_TOKEN_ON_SRC_CHAIN,
        "The token is not supported on the source chain.",
        "Use the symbols in `/v2/getTransferConfigs`, where letter case matters; `msg` names the symbol that "
        "is meant, or chains that have the token.",
        "This token cannot be sent from this chain.",
    ),
    ErrorRow(
        Reason.TOKEN_NOT_ON_DST, ErrorKind.ANSWERED, ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN,
        "The token is not supported on the destination chain.",
        "Choose one of the destinations in `msg`.",
        "This token cannot be received on this chain. Choose another destination.",
    ),
    ErrorRow(
        Reason.NO_ROUTE, ErrorKind.ANSWERED, ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN,
        "Both chains have the token, but no pool route joins them in this direction.",
        "Choose one of the destinations in `msg`, or omit `is_pegged`.",
        "This token cannot be sent to this chain. Choose another destination.",
    ),
    ErrorRow(
        Reason.NO_PEGGED_PAIR, ErrorKind.ANSWERED, ErrCode.ERROR_NO_TOKEN_ON_DST_CHAIN,
        "`is_pegged` is true, but there is no pegged pair between the two chains.",
        "Omit `is_pegged`, or choose a pair from the pegged pair configs.",
        "This token cannot be sent to this chain. Choose another destination.",
    ),
    ErrorRow(
        Reason.TRANSFER_DISABLED, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_TRANSFER_DISABLED,
        "Transfers of the token, or those through its pool, are disabled on one of the chains, or between "
        "the two chains in both directions.",
        "Choose another token or chain, or try again later.",
        "Transfers of this token are paused between these chains. Try again later.",
    ),
    ErrorRow(
        Reason.DIRECTION_BLOCKED, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_BLOCK_BRIDGE_DIRECT,
        "Transfers of the token are disabled in this direction.",
        "Choose another destination, or try again later.",
        "This token cannot be sent in this direction at the moment. Choose another destination.",
    ),
    ErrorRow(
        Reason.AMOUNT_ZERO, ErrorKind.ANSWERED, _COMMON,
        "`amt` is 0.",
        "Ask the user to enter an amount.",
        "Enter an amount.",
    ),
    ErrorRow(
        Reason.AMOUNT_UNDER_MINIMUM, ErrorKind.ANSWERED, _COMMON,
        "The amount is less than the `min_send` of the token on the source chain; of a pegged transfer, "
        "than the pair's `min_deposit` or `min_burn`, where it has one.",
        "Ask the user for at least the amount in `msg`.",
        "The amount is too small. Show the minimum of `msg` in whole tokens.",
    ),
    ErrorRow(
        Reason.AMOUNT_OVER_MAXIMUM, ErrorKind.ANSWERED, _COMMON,
        "The amount is more than the `max_send` of the token on the source chain; of a pegged transfer, "
        "than the pair's `max_deposit` or `max_burn`, where it has one.",
        "Ask the user for at most the amount in `msg`.",
        "The amount is too large. Show the maximum of `msg` in whole tokens.",
    ),
    ErrorRow(
        Reason.AMOUNT_TOO_SMALL, ErrorKind.ANSWERED, _COMMON,
        "The fees are as large as the amount to be received, or larger.",
        "Ask the user for at least the amount in `msg`.",
        "The fees would use up this amount. Show the amount of `msg` that is worth sending.",
    ),
    ErrorRow(
        Reason.AMOUNT_TOO_LARGE, ErrorKind.ANSWERED, _COMMON,
        "A result would be more than 2^256-1.",
        "Ask the user for a smaller amount.",
        "The amount is too large.",
    ),
    ErrorRow(
        Reason.BAD_SLIPPAGE_TOLERANCE, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_BAD_LIQ_SLIPPAGE,
        "`slippage_tolerance` is not from 1 to 999999. Pool transfers only.",
        "Send a whole number of parts per million in that range.",
        "Choose a slippage tolerance above 0 % and below 100 %.",
    ),
    ErrorRow(
        Reason.FEE_STALE, ErrorKind.ANSWERED, _COMMON,
        "The route's base fee is older than the operator allows, or a fee of the transfer is not known.",
        "Try again in a few minutes.",
        "The fee is not known at the moment. Try again in a few minutes.",
    ),
    ErrorRow(
        Reason.INBOUND_LIMIT, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_INBOUND_LIQUIDITY_LIMIT,
        "The amount is over the source pool's inbound limit (liquidity added minus relayed minus withdrawn).",
        "Ask the user for at most the amount in `msg`.",
        "The bridge cannot take this much at once. Show the amount of `msg` that it can take.",
    ),
    ErrorRow(
        Reason.EPOCH_CAP, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_INBOUND_LIQUIDITY_LIMIT,
        "The amount is over what is left of the source pool's volume cap in the current epoch.",
        "Ask the user for at most the amount in `msg`, or to wait for the next epoch.",
        "The bridge cannot take this much now. Show the amount of `msg`, or let the user wait.",
    ),
    ErrorRow(
        Reason.TOTAL_CAP, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_LIQ_OVER_CAP,
        "The amount would take the source pool over its total cap.",
        "Ask the user for at most the amount in `msg`.",
        "The bridge cannot take this much now. Show the amount of `msg` that it can take.",
    ),
    ErrorRow(
        Reason.NOT_ENOUGH_LIQUIDITY, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_NO_ENOUGH_TOKEN_ON_DST_CHAIN,
        "The destination pool holds too little of the token.",
        "Ask the user for at most the amount in `msg`.",
        "The bridge cannot pay this much on that chain now. Show the amount of `msg` that it can pay.",
    ),
    ErrorRow(
        Reason.CURVE_UNSETTLED, ErrorKind.ANSWERED, _COMMON,
        "The price curve does not converge for this amount and these pools.",
        "Ask the user for another amount, or try again later.",
        "There is no price for this amount at the moment. Try another amount, or try again later.",
    ),
    ErrorRow(
        Reason.SLIPPAGE_TOO_HIGH, ErrorKind.ANSWERED, ErrCode.ERROR_CODE_BAD_LIQ_SLIPPAGE,
        "The fees and the tolerance use up the whole amount: `max_slippage` would be 1000000 or more.",
        "Ask the user for a larger amount or a lower tolerance.",
        "Fees and price changes could use up the whole amount. Send more, or lower the tolerance.",
    ),
    ErrorRow(
        Reason.CONTRACT_UNKNOWN, ErrorKind.ANSWERED, _COMMON,
        "The configuration names no address of the contract or token, or one that is no EVM address, so "
        "there is no transaction to send. The estimate itself is possible.",
        "Choose another token or chain. The operator can add the address.",
        "This transfer cannot be sent from here. Choose another token or chain.",
    ),
    ErrorRow(
        Reason.NOT_EVM, ErrorKind.ANSWERED, _COMMON,
        "One of the chains is no EVM chain, such as Flow, Aptos or Sui, or `sender` or `receiver` is no "
        "account of one (20 bytes). Transactions are made for EVM chains only.",
        "Send an address of 20 bytes. For other chains take the price from `/v2/estimateAmt`, and the "
        "transaction from a wallet of the chain.",
        "This transfer cannot be sent from here. Check the receiver's address, or choose another chain.",
    ),
    ErrorRow(
        Reason.NATIVE_REFUSED, ErrorKind.ANSWERED, _COMMON,
        "`native` is true, but the transfer burns its token, or its token is not the one that the chain's "
        "coin is wrapped as. It is refused also where the configuration has no such token (`native_wrap`).",
        "Omit `native`, and send the token itself.",
        "Wrap the coin first, then send the wrapped token.",
    ),
    ErrorRow(
        Reason.SANDBOX, ErrorKind.ANSWERED, _COMMON,
        "The gateway holds the sandbox. Its contracts are real and its fees are not, so it gives no "
        "transaction.",
        "Try transactions with `make demo`, which has chains of its own, or with a gateway that is not a "
        "sandbox.",
        "Nothing: users have no sandbox.",
    ),
)  # fmt: skip

_ROWS: Final[dict[Reason, ErrorRow]] = {row.reason: row for row in ERRORS}


def row_of(reason: Reason) -> ErrorRow:
    """The row of a reason; every reason has one."""
    return _ROWS[reason]
