"""The transfers that are refunded, with signatures that the bridge contracts' rule accepts.

The validators' keys are no secret: each is the Keccak-256 of "sandbox validator" and a number. They sign
for made-up transfers here and hold no power anywhere else.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from app.refunds.quorum import signing_digest
from app.refunds.request import RefundRequest, encode_request
from app.sandbox.catalogue import sandbox_id
from app.sandbox.transfer_builder import SendDetails, TransferBuilder, send_details
from app.values.codes import SendKind, TransferHistoryStatus, XferStatus
from app.values.crypto import keccak256, sign_digest
from app.values.identifiers import ChainId

VALIDATOR_KEYS: Final = tuple(keccak256(f"sandbox validator {number}".encode()) for number in range(1, 6))
"""Private keys, in falling order of the power that the network document gives their addresses."""

UNDER_QUORUM: Final = 2
QUORUM: Final = 3
"""How many of the most powerful validators reach two thirds of the power, and how many do not."""

_Is = TransferHistoryStatus


def refund_request(transfer_id: str, details: SendDetails) -> RefundRequest:
    """Return the request that pays all of a send back to its sender."""
    pool, src_chain_id = details.kind is SendKind.POOL, ChainId(details.src_chain_id)
    ref_id = bytes.fromhex(transfer_id.removeprefix("0x"))
    return RefundRequest(
        kind=details.kind,
        receiver=details.sender,
        token=details.token,
        amount=details.amount,
        ref_id=ref_id,
        chain_id=src_chain_id if pool else None,
        seqnum=int.from_bytes(keccak256(ref_id)[:4], "big") if pool else None,
        ref_chain_id=None if pool else src_chain_id,
    )


def with_evidence(transfer: TransferBuilder, signatures: int) -> TransferBuilder:
    """Add the refund request of a transfer, and the signatures of the most powerful validators."""
    sent = transfer.details
    wd_onchain = encode_request(refund_request(transfer.transfer_id, sent))
    digest = signing_digest(sent.kind, ChainId(sent.src_chain_id), sent.contract, wd_onchain)
    transfer.refund_prepared(wd_onchain)
    for key in VALIDATOR_KEYS[:signatures]:
        transfer.refund_signed(sign_digest(digest, key))
    return transfer


def refunds(now: datetime) -> Iterator[TransferBuilder]:
    """Yield the transfers whose refund was requested, at each stage up to the payment."""
    yield from _requested(now)
    yield from _signed(now)
    yield from _paid(now)


def _requested(now: datetime) -> Iterator[TransferBuilder]:
    """Those whose refund has no quorum: one with some signatures, two that wait for the first."""
    sent = send_details(SendKind.POOL, "USDT", (1, 56), "750", by=20)
    transfer = _refused(now, _Is.TRANSFER_REQUESTING_REFUND, 0, 4, sent, XferStatus.BAD_LIQUIDITY)
    yield with_evidence(transfer.refund_requested(), UNDER_QUORUM)
    sent = send_details(SendKind.POOL, "USDC", (43114, 1), "95", by=21)
    transfer = _refused(now, _Is.TRANSFER_REQUESTING_REFUND, 1, 3, sent, XferStatus.BAD_SLIPPAGE)
    yield transfer.refund_requested()
    sent = send_details(SendKind.POOL, "USDT", (56, 1), "33.25", by=22)
    transfer = _refused(now, _Is.TRANSFER_REQUESTING_REFUND, 2, 5, sent, XferStatus.BAD_SLIPPAGE)
    yield transfer.network_status(XferStatus.REFUND_REQUESTED)


def _signed(now: datetime) -> Iterator[TransferBuilder]:
    """Those that their users can claim: one of each kind."""
    for variant, signatures, sent in (
        (0, QUORUM, send_details(SendKind.POOL, "USDC", (1, 8453), "1800", by=23)),
        (2, QUORUM + 1, send_details(SendKind.DEPOSIT, "AI", (56, 43114), "52000", by=24)),
        (3, QUORUM + 2, send_details(SendKind.BURN, "AI", (43114, 56), "27500", by=25)),
    ):
        status = _Is.TRANSFER_REFUND_TO_BE_CONFIRMED
        transfer = _refused(now, status, variant, 12 + variant, sent, XferStatus.BAD_SLIPPAGE)
        yield with_evidence(transfer.refund_requested(), signatures)


def _paid(now: datetime) -> Iterator[TransferBuilder]:
    """Those whose refund is in a block, or paid: in two attempts, and without any event about it."""
    sent = send_details(SendKind.POOL, "USDT", (137, 1), "640", by=26)
    transfer = _refused(now, _Is.TRANSFER_CONFIRMING_YOUR_REFUND, 0, 7, sent, XferStatus.BAD_LIQUIDITY)
    yield with_evidence(transfer.refund_requested(), QUORUM).refund_submitted()
    sent = send_details(SendKind.POOL, "USDT", (42161, 1), "425", by=27)
    transfer = _refused(now, _Is.TRANSFER_REFUNDED, 0, 30, sent, XferStatus.BAD_LIQUIDITY)
    claimed = with_evidence(transfer.refund_requested(), QUORUM).refund_failed().refund_submitted()
    yield claimed.refund_delayed().refund_completed()
    sent = send_details(SendKind.POOL, "USDC", (8453, 1), "210", by=28)
    transfer = _refused(now, _Is.TRANSFER_REFUNDED, 1, 28, sent, XferStatus.BAD_SLIPPAGE)
    yield transfer.network_status(XferStatus.REFUND_DONE)


def _refused(
    now: datetime,
    status: TransferHistoryStatus,
    variant: int,
    hours: int,
    sent: SendDetails,
    reason: XferStatus,
) -> TransferBuilder:
    """A transfer that was sent so many hours ago and that the network refused; it ends at this status."""
    transfer = TransferBuilder(sandbox_id(status, variant), sent, now - timedelta(hours=hours))
    return transfer.sent().confirmed().network_status(reason)
