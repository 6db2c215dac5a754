"""What can be asked of the sandbox: fixed ids, and requests that show each error.

README, documentation and tests take them from here; ``feed.py`` has the events that make them true.
"""

from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from app.sandbox.durations import SERIES
from app.values.codes import ErrCode, Reason, TransferHistoryStatus, XferStatus

ORDINARY_CALLER: Final = "127.0.0.1"
BLOCKED_CALLER: Final = "127.0.0.2"
"""The loopback address in the sandbox's blocked networks: ``curl --interface 127.0.0.2``."""

RECORDED_TRANSFER: Final = "0x77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6"
"""A transfer of the production network, whose public answer the sandbox gives again."""


class SandboxTransfer(Struct, frozen=True):
    """A transfer with a fixed id (0x and 64 hex digits) and what asking for it answers."""

    transfer_id: str
    status: TransferHistoryStatus
    what: str
    refund_reason: XferStatus = XferStatus.UNKNOWN


class SandboxEstimate(Struct, frozen=True):
    """An estimate that succeeds: the query string of GET /v2/estimateAmt."""

    query: str
    what: str


class SandboxError(Struct, frozen=True):
    """An estimate that fails with ``code``; ``reason`` is the answer's X-Gateway-Reason.

    ``caller`` is the address to ask from.
    """

    code: ErrCode
    reason: Reason
    query: str
    why: str
    caller: str = ORDINARY_CALLER


class SandboxLatency(Struct, frozen=True):
    """A pair of chains with a week of transfers, and their median latency, which stays what it is."""

    src_chain_id: int
    dst_chain_id: int
    median: timedelta


def sandbox_id(status: TransferHistoryStatus, variant: int = 0) -> str:
    """Return the id of a sandbox transfer: zeros, two digits of the variant, two of the status.

    Both are read as decimal: ``0x…0008`` is at status 8, ``0x…0306`` at status 6 for refund reason 3.
    """
    return f"0x{variant:062d}{status.value:02d}"


def _transfer(
    status: TransferHistoryStatus, variant: int, what: str, reason: XferStatus = XferStatus.UNKNOWN
) -> SandboxTransfer:
    return SandboxTransfer(sandbox_id(status, variant), status, what, reason)


def _refundable(reason: XferStatus, what: str) -> SandboxTransfer:
    return _transfer(TransferHistoryStatus.TRANSFER_TO_BE_REFUNDED, reason.value, what, reason)


_Is = TransferHistoryStatus

SANDBOX_TRANSFERS: Final = (
    _transfer(_Is.TRANSFER_UNKNOWN, 1, "its block was reorganised away: known, but nothing of it stands"),
    _transfer(_Is.TRANSFER_SUBMITTING, 0, "announced, in no block yet"),
    _transfer(_Is.TRANSFER_SUBMITTING, 1, "in a block that is not deep enough yet"),
    _transfer(_Is.TRANSFER_FAILED, 0, "the transaction reverted: nothing was taken"),
    _transfer(_Is.TRANSFER_WAITING_FOR_NET_CONFIRMATION, 0, "deep enough, waiting for the validators"),
    _transfer(_Is.TRANSFER_WAITING_FOR_NET_CONFIRMATION, 1, "the validators' word is OK_TO_RELAY"),
    _transfer(_Is.TRANSFER_WAITING_FOR_FUND_RELEASE, 0, "the validators' word is SUCCESS, release to come"),
    _transfer(_Is.TRANSFER_COMPLETED, 0, "a pool transfer, paid out"),
    _transfer(_Is.TRANSFER_COMPLETED, 2, "a deposit into the vault, minted on the other chain"),
    _transfer(_Is.TRANSFER_COMPLETED, 3, "a burn, withdrawn from the vault on the original chain"),
    _transfer(_Is.TRANSFER_COMPLETED, 4, "a burn, minted on another pegged chain"),
    SandboxTransfer(
        RECORDED_TRANSFER, _Is.TRANSFER_COMPLETED, "a real transfer, answered as it was in public"
    ),
    _transfer(_Is.TRANSFER_TO_BE_REFUNDED, 0, "refused: the price moved too far", XferStatus.BAD_SLIPPAGE),
    _refundable(XferStatus.BAD_LIQUIDITY, "refused: the destination pool held too little"),
    _refundable(XferStatus.BAD_SLIPPAGE, "refused: the price moved further than the slippage allowed"),
    _refundable(XferStatus.BAD_TOKEN, "refused: the token cannot be paid out"),
    _refundable(XferStatus.BAD_XFER_DISABLED, "refused: transfers of the token are disabled"),
    _refundable(XferStatus.BAD_DEST_CHAIN, "refused: the destination chain is not served"),
    _transfer(_Is.TRANSFER_REQUESTING_REFUND, 0, "a refund request signed by less than a quorum"),
    _transfer(_Is.TRANSFER_REQUESTING_REFUND, 1, "the refund was asked for, its request is to come"),
    _transfer(_Is.TRANSFER_REQUESTING_REFUND, 2, "the validators' word is REFUND_REQUESTED"),
    _transfer(_Is.TRANSFER_REFUND_TO_BE_CONFIRMED, 0, "a pool send: call withdraw on the pool bridge"),
    _transfer(_Is.TRANSFER_REFUND_TO_BE_CONFIRMED, 2, "a deposit: call withdraw on the vault"),
    _transfer(_Is.TRANSFER_REFUND_TO_BE_CONFIRMED, 3, "a burn: call mint on the pegged bridge"),
    _transfer(_Is.TRANSFER_CONFIRMING_YOUR_REFUND, 0, "the user's withdraw is in a block, not deep yet"),
    _transfer(_Is.TRANSFER_REFUNDED, 0, "refunded on the source chain"),
    _transfer(_Is.TRANSFER_REFUNDED, 1, "the validators' word is REFUND_DONE"),
    _transfer(_Is.TRANSFER_DELAYED, 0, "large, so its release waits in the delay queue"),
)


def _query(src: int, dst: int, symbol: str, amt: int, slippage: int = 3000, **optional: str) -> str:
    return urlencode(
        {
            "src_chain_id": src,
            "dst_chain_id": dst,
            "token_symbol": symbol,
            "amt": amt,
            "slippage_tolerance": slippage,
            **optional,
        }
    )


SANDBOX_ESTIMATES: Final = (
    SandboxEstimate(_query(1, 56, "USDT", 10**6), "1 USDT at a fixed rate, from 6 to 18 decimals"),
    SandboxEstimate(_query(42161, 43114, "USDT", 25_000 * 10**6), "25,000 USDT over a StableSwap curve"),
    SandboxEstimate(_query(56, 42161, "AI", 50_000 * 10**18), "a deposit: minted as a pegged token"),
    SandboxEstimate(_query(42161, 56, "AI", 50_000 * 10**18), "a burn: withdrawn on the original chain"),
    SandboxEstimate(
        _query(42161, 43114, "AI", 50_000 * 10**18), "burned on one pegged chain, minted on another"
    ),
)

_Err = ErrCode

SANDBOX_ERRORS: Final = (
    SandboxError(
        _Err.ERROR_CODE_COMMON, Reason.SAME_CHAIN, _query(1, 1, "USDT", 10**6), "the same chain on both sides"
    ),
    SandboxError(
        _Err.ERROR_CODE_COMMON, Reason.CHAIN_UNKNOWN, _query(1, 999_999, "USDT", 10**6), "no such chain"
    ),
    SandboxError(
        _Err.ERROR_CODE_COMMON, Reason.CHAIN_DISABLED, _query(1, 128, "USDT", 10**6), "HECO is disabled"
    ),
    SandboxError(
        _Err.ERROR_CODE_COMMON, Reason.AMOUNT_ZERO, _query(1, 56, "USDT", 0), "nothing would be sent"
    ),
    SandboxError(
        _Err.ERROR_CODE_COMMON, Reason.AMOUNT_TOO_SMALL, _query(1, 56, "USDT", 1), "the fees eat the amount"
    ),
    SandboxError(
        _Err.ERROR_CODE_COMMON,
        Reason.FEE_STALE,
        _query(10, 137, "USDC", 10**6),
        "the route's base fee was not renewed within the hour it is good for",
    ),
    SandboxError(
        _Err.ERROR_NO_TOKEN_ON_DST_CHAIN,
        Reason.TOKEN_NOT_ON_DST,
        _query(1, 8453, "USDT", 10**6),
        "there is no USDT on Base here",
    ),
    SandboxError(
        _Err.ERROR_NO_TOKEN_ON_DST_CHAIN,
        Reason.NO_ROUTE,
        _query(250, 8453, "USDC", 10**6),
        "USDC is on Fantom and on Base, but no route joins them",
    ),
    SandboxError(
        _Err.ERROR_NO_TOKEN_ON_DST_CHAIN,
        Reason.NO_PEGGED_PAIR,
        _query(1, 56, "USDT", 10**6, is_pegged="true"),
        "USDT is not pegged, whatever the request says",
    ),
    SandboxError(
        _Err.ERROR_NO_TOKEN_ON_SRC_CHAIN,
        Reason.TOKEN_NOT_ON_SRC,
        _query(8453, 1, "USDT", 10**6),
        "there is no USDT on Base here",
    ),
    SandboxError(
        _Err.ERROR_CODE_NO_ENOUGH_TOKEN_ON_DST_CHAIN,
        Reason.NOT_ENOUGH_LIQUIDITY,
        _query(1, 250, "WETH", 30 * 10**18),
        "30 WETH at a fixed rate, but Fantom's pool holds 20",
    ),
    SandboxError(
        _Err.ERROR_CODE_NO_ENOUGH_TOKEN_ON_DST_CHAIN,
        Reason.NOT_ENOUGH_LIQUIDITY,
        _query(42161, 250, "USDT", 100 * 10**6),
        "the curve's other side, Fantom's USDT pool, is empty",
    ),
    SandboxError(
        _Err.ERROR_CODE_INBOUND_LIQUIDITY_LIMIT,
        Reason.INBOUND_LIMIT,
        _query(10, 1, "USDT", 2_000_000 * 10**6),
        "2,000,000 USDT, but the inbound limit of Optimism's pool is 1,000,000",
    ),
    SandboxError(
        _Err.ERROR_CODE_INBOUND_LIQUIDITY_LIMIT,
        Reason.EPOCH_CAP,
        _query(42161, 1, "WETH", 60 * 10**18),
        "60 WETH, but Arbitrum's pool takes 50 an hour",
    ),
    SandboxError(
        _Err.ERROR_CODE_TRANSFER_DISABLED,
        Reason.TRANSFER_DISABLED,
        _query(1, 56, "BUSD", 10 * 10**18),
        "BUSD is disabled on BNB Chain",
    ),
    SandboxError(
        _Err.ERROR_CODE_TRANSFER_DISABLED,
        Reason.TRANSFER_DISABLED,
        _query(137, 1, "USDC", 10**6),
        "USDC between Ethereum and Polygon is blocked both ways",
    ),
    SandboxError(
        _Err.ERROR_CODE_BAD_LIQ_SLIPPAGE,
        Reason.BAD_SLIPPAGE_TOLERANCE,
        _query(1, 56, "USDT", 10**6, slippage=0),
        "slippage_tolerance is from 1 to 999999",
    ),
    SandboxError(
        _Err.ERROR_CODE_BAD_LIQ_SLIPPAGE,
        Reason.SLIPPAGE_TOO_HIGH,
        _query(1, 56, "USDT", 700_000, slippage=200_000),
        "with 20 % tolerance the fees could take all of 0.7 USDT",
    ),
    SandboxError(
        _Err.ERROR_CODE_ADDRESS_BLOCKED,
        Reason.ADDRESS_BLOCKED,
        _query(1, 56, "USDT", 10**6, usr_addr="0x0000000000000000000000000000000000000BAD"),
        "the address is blocked, in any letter case",
    ),
    SandboxError(
        _Err.ERROR_CODE_BLOCK_BRIDGE_DIRECT,
        Reason.DIRECTION_BLOCKED,
        _query(56, 43114, "USDC", 10**18),
        "USDC from BNB Chain to Avalanche is blocked, the way back is open",
    ),
    SandboxError(
        _Err.ERROR_CODE_LIQ_OVER_CAP,
        Reason.TOTAL_CAP,
        _query(10, 1, "WETH", 20 * 10**18),
        "20 WETH, but Optimism's pool is 10 under its cap",
    ),
    SandboxError(
        _Err.ErrCode_ERROR_CODE_VPN_BLOCK,
        Reason.NETWORK_BLOCKED,
        _query(1, 56, "USDT", 10**6),
        "asked from a blocked network (curl --interface 127.0.0.2)",
        caller=BLOCKED_CALLER,
    ),
)

SANDBOX_LATENCIES: Final = tuple(
    SandboxLatency(series.typical.src_chain_id, series.typical.dst_chain_id, series.median)
    for series in SERIES
)
