"""Numbers and reasons of the public interface, with their published names."""

from enum import IntEnum, StrEnum
from typing import Final


class TransferHistoryStatus(IntEnum):
    """Where a transfer is, sent as a number (docs/interface/status.md#transfer-history-status)."""

    TRANSFER_UNKNOWN = 0
    TRANSFER_SUBMITTING = 1
    TRANSFER_FAILED = 2
    TRANSFER_WAITING_FOR_NET_CONFIRMATION = 3
    TRANSFER_WAITING_FOR_FUND_RELEASE = 4
    TRANSFER_COMPLETED = 5
    TRANSFER_TO_BE_REFUNDED = 6
    TRANSFER_REQUESTING_REFUND = 7
    TRANSFER_REFUND_TO_BE_CONFIRMED = 8
    TRANSFER_CONFIRMING_YOUR_REFUND = 9
    TRANSFER_REFUNDED = 10
    TRANSFER_DELAYED = 11


FINISHED_STATUSES: Final = frozenset(
    {
        TransferHistoryStatus.TRANSFER_FAILED,
        TransferHistoryStatus.TRANSFER_COMPLETED,
        TransferHistoryStatus.TRANSFER_REFUNDED,
    }
)
"""A transfer at one of these has ended: it can be pruned."""

RESTING_STATUSES: Final = FINISHED_STATUSES | {TransferHistoryStatus.TRANSFER_UNKNOWN}
"""A transfer at one of these has ended, or no canonical event names it."""

REFUND_STATUSES: Final = frozenset(
    {
        TransferHistoryStatus.TRANSFER_TO_BE_REFUNDED,
        TransferHistoryStatus.TRANSFER_REQUESTING_REFUND,
        TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED,
        TransferHistoryStatus.TRANSFER_CONFIRMING_YOUR_REFUND,
        TransferHistoryStatus.TRANSFER_REFUNDED,
    }
)
"""A transfer at one of these is being refunded or was."""


class XferStatus(IntEnum):
    """The network status of a transfer; the BAD values are refund reasons
    (docs/interface/status.md#xfer-status).
    """

    UNKNOWN = 0
    OK_TO_RELAY = 1
    SUCCESS = 2
    BAD_LIQUIDITY = 3
    BAD_SLIPPAGE = 4
    BAD_TOKEN = 5
    REFUND_REQUESTED = 6
    REFUND_DONE = 7
    BAD_XFER_DISABLED = 8
    BAD_DEST_CHAIN = 9

    @property
    def is_bad(self) -> bool:
        return self.name.startswith("BAD_")


class ErrCode(IntEnum):
    """``err.code`` (docs/interface/answers.md#errors). 0 is a placeholder and never sent."""

    ERROR_CODE_UNDEFINED = 0
    ERROR_CODE_COMMON = 500
    ERROR_NO_TOKEN_ON_DST_CHAIN = 1001
    ERROR_NO_TOKEN_ON_SRC_CHAIN = 1002
    ERROR_CODE_NO_ENOUGH_TOKEN_ON_DST_CHAIN = 1004
    ERROR_CODE_INBOUND_LIQUIDITY_LIMIT = 1005
    ERROR_CODE_TRANSFER_DISABLED = 1009
    ERROR_CODE_BAD_LIQ_SLIPPAGE = 1012
    ERROR_CODE_ADDRESS_BLOCKED = 1015
    ERROR_CODE_BLOCK_BRIDGE_DIRECT = 1016
    ERROR_CODE_LIQ_OVER_CAP = 1017
    ErrCode_ERROR_CODE_VPN_BLOCK = 1018


class BridgeType(IntEnum):
    """How a transfer crosses (docs/interface/answers.md#compat-clients)."""

    UNDEFINED = 0
    POOL = 1
    DEPOSIT_MINT = 2
    BURN_WITHDRAW = 3
    BURN_MINT = 4


class SendKind(StrEnum):
    """What the source transaction did (``kind`` of ``transfer.sent``)."""

    POOL = "pool"
    DEPOSIT = "deposit"
    BURN = "burn"


class Reason(StrEnum):
    """``X-Gateway-Reason``: the cause, finer than ``err.code`` (docs/interface/answers.md#reasons)."""

    BAD_REQUEST = "bad_request"
    PATH_NOT_FOUND = "path_not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    BODY_TOO_LARGE = "body_too_large"
    LINE_TOO_LONG = "line_too_long"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    UNAUTHORIZED = "unauthorized"
    INSUFFICIENT_SCOPE = "insufficient_scope"
    RATE_LIMITED = "rate_limited"
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"
    WAIT_BUSY = "wait_busy"

    TRANSFER_NOT_FOUND = "transfer_not_found"
    REFUND_NOT_AVAILABLE = "refund_not_available"
    NO_LATENCY_DATA = "no_latency_data"
    WEBHOOK_NOT_FOUND = "webhook_not_found"

    NETWORK_BLOCKED = "network_blocked"
    ADDRESS_BLOCKED = "address_blocked"
    SAME_CHAIN = "same_chain"
    CHAIN_UNKNOWN = "chain_unknown"
    CHAIN_DISABLED = "chain_disabled"
    TOKEN_NOT_ON_SRC = "token_not_on_src"  # noqa: S105  a reason, not a secret
    TOKEN_NOT_ON_DST = "token_not_on_dst"  # noqa: S105  a reason, not a secret
    NO_ROUTE = "no_route"
    NO_PEGGED_PAIR = "no_pegged_pair"
    TRANSFER_DISABLED = "transfer_disabled"
    DIRECTION_BLOCKED = "direction_blocked"
    AMOUNT_ZERO = "amount_zero"
    AMOUNT_UNDER_MINIMUM = "amount_under_minimum"
    AMOUNT_OVER_MAXIMUM = "amount_over_maximum"
    AMOUNT_TOO_SMALL = "amount_too_small"
    AMOUNT_TOO_LARGE = "amount_too_large"
    BAD_SLIPPAGE_TOLERANCE = "bad_slippage_tolerance"
    FEE_STALE = "fee_stale"
    INBOUND_LIMIT = "inbound_limit"
    EPOCH_CAP = "epoch_cap"
    TOTAL_CAP = "total_cap"
    NOT_ENOUGH_LIQUIDITY = "not_enough_liquidity"
    CURVE_UNSETTLED = "curve_unsettled"
    SLIPPAGE_TOO_HIGH = "slippage_too_high"

    CONTRACT_UNKNOWN = "contract_unknown"
    NOT_EVM = "not_evm"
    NATIVE_REFUSED = "native_refused"
    SANDBOX = "sandbox"
