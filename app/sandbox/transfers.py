"""The transfers with fixed ids that have no refund request."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from app.sandbox.catalogue import RECORDED_TRANSFER, sandbox_id
from app.sandbox.durations import usual_latency
from app.sandbox.reports import Event, event
from app.sandbox.transfer_builder import SendDetails, TransferBuilder, send_details
from app.values.codes import SendKind, TransferHistoryStatus, XferStatus

_RECORDED_SRC_TX = "0x5817041ff87994234a74edbff7f25afb659a5519c1ce0b90b7d886aca67eaccc"
_RECORDED_DST_TX = "0xe73db1fff7407a72d4755cd52252d29afd2e5326b755725df56befba4ff7594b"

_Is = TransferHistoryStatus


def on_the_way(now: datetime) -> Iterator[TransferBuilder]:
    """Yield the transfers that wait for something, and the one that failed."""

    def begun(
        status: TransferHistoryStatus, variant: int, minutes: int, details: SendDetails
    ) -> TransferBuilder:
        return TransferBuilder(sandbox_id(status, variant), details, now - timedelta(minutes=minutes))

    pool = SendKind.POOL
    submitting, waiting = _Is.TRANSFER_SUBMITTING, _Is.TRANSFER_WAITING_FOR_NET_CONFIRMATION
    yield begun(submitting, 0, 2, send_details(pool, "USDT", (1, 56), "150", by=1)).submitted()
    yield begun(submitting, 1, 1, send_details(pool, "USDC", (137, 42161), "320", by=2)).submitted().sent()
    yield (
        begun(_Is.TRANSFER_FAILED, 0, 95, send_details(pool, "WETH", (1, 42161), "0.4", by=3))
        .submitted()
        .failed("the transaction reverted: allowance too low")
    )
    yield begun(waiting, 0, 8, send_details(pool, "USDC", (1, 42161), "1250", by=4)).sent().confirmed()
    yield (
        begun(waiting, 1, 6, send_details(pool, "USDT", (56, 137), "80.5", by=5))
        .submitted()
        .sent()
        .network_status(XferStatus.OK_TO_RELAY)
    )
    yield (
        begun(
            _Is.TRANSFER_WAITING_FOR_FUND_RELEASE, 0, 25, send_details(pool, "USDT", (137, 56), "2400", by=6)
        )
        .sent()
        .confirmed()
        .network_status(XferStatus.SUCCESS)
    )
    yield (
        begun(_Is.TRANSFER_DELAYED, 0, 130, send_details(pool, "USDC", (1, 42161), "250000", by=7))
        .sent()
        .confirmed()
        .network_status(XferStatus.SUCCESS)
        .delayed()
    )


def completed(now: datetime) -> Iterator[TransferBuilder]:
    """Yield a completed transfer of every bridge type, and the recorded one."""
    sends = (
        (0, send_details(SendKind.POOL, "USDT", (1, 56), "500", by=8)),
        (2, send_details(SendKind.DEPOSIT, "AI", (56, 42161), "75000", by=9)),
        (3, send_details(SendKind.BURN, "AI", (43114, 56), "40000", by=10)),
        (4, send_details(SendKind.BURN, "AI", (42161, 43114), "15000", by=11)),
    )
    for variant, sent in sends:
        start = now - timedelta(hours=20 - 3 * variant)
        yield _paid_out(TransferBuilder(sandbox_id(_Is.TRANSFER_COMPLETED, variant), sent, start))
    yield _paid_out(
        TransferBuilder(
            RECORDED_TRANSFER,
            send_details(SendKind.POOL, "USDC", (250, 42161), "180", by=12),
            now - timedelta(days=3),
            src_tx_hash=_RECORDED_SRC_TX,
            dst_tx_hash=_RECORDED_DST_TX,
        )
    )


def to_be_refunded(now: datetime) -> Iterator[TransferBuilder]:
    """Yield the transfers that the validator network refused, one for each reason and a plain one."""
    pool = SendKind.POOL
    refused = (
        (0, XferStatus.BAD_SLIPPAGE, send_details(pool, "USDT", (1, 56), "60", by=13)),
        (3, XferStatus.BAD_LIQUIDITY, send_details(pool, "WETH", (8453, 1), "3.5", by=14)),
        (4, XferStatus.BAD_SLIPPAGE, send_details(pool, "USDC", (42161, 1), "910", by=15)),
        (5, XferStatus.BAD_TOKEN, send_details(SendKind.DEPOSIT, "OOKI", (1, 56), "66000", by=16)),
        (8, XferStatus.BAD_XFER_DISABLED, send_details(pool, "BUSD", (1, 56), "45", by=17)),
        (9, XferStatus.BAD_DEST_CHAIN, send_details(pool, "USDT", (1, 128), "300", by=18)),
    )
    for variant, reason, sent in refused:
        start = now - timedelta(hours=10, minutes=-45 * variant)
        transfer = TransferBuilder(sandbox_id(_Is.TRANSFER_TO_BE_REFUNDED, variant), sent, start)
        yield transfer.sent().confirmed().network_status(reason)


def reorged_away(now: datetime) -> Iterator[Event]:
    """Yield the send of a transfer, and the reorg that removed its block and nothing else.

    It is on Optimism, where no event of a later block comes before the reorg.
    """
    sent = send_details(SendKind.POOL, "USDT", (10, 1), "700", by=19)
    transfer = TransferBuilder(sandbox_id(_Is.TRANSFER_UNKNOWN, 1), sent, now - timedelta(minutes=6)).sent()
    yield from transfer.events
    yield event(
        "chain.reorged",
        f"{sent.src_chain_id}:{transfer.source_block}",
        now - timedelta(minutes=5),
        chain_id=sent.src_chain_id,
        from_block=transfer.source_block,
    )


def _paid_out(transfer: TransferBuilder) -> TransferBuilder:
    latency = usual_latency(transfer.details.src_chain_id, transfer.details.dst_chain_id)
    return transfer.submitted().sent().confirmed().network_status(XferStatus.SUCCESS).released(latency)
