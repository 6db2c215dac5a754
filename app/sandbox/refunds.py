"""The transfers that are refunded, with signatures that the bridge contracts' rule accepts.

The validators' keys are no secret: each is the Keccak-256 of "sandbox validator" and a number. They sign
for made-up transfers here and hold no power anywhere else.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from app.refunds.evidence import signing_digest
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

    def refused(
        status: TransferHistoryStatus, variant: int, hours: int, sent: SendDetails, reason: XferStatus
    ) -> TransferBuilder:
        transfer = TransferBuilder(sandbox_id(status, variant), sent, now - timedelta(hours=hours))
        return transfer.sent().confirmed().network_status(reason)

    pool, slippage, liquidity = SendKind.POOL, XferStatus.BAD_SLIPPAGE, XferStatus.BAD_LIQUIDITY
    requesting, to_confirm = _Is.TRANSFER_REQUESTING_REFUND, _Is.TRANSFER_REFUND_TO_BE_CONFIRMED

    transfer = refused(requesting, 0, 4, send_details(pool, "USDT", (1, 56), "750", by=20), liquidity)
    yield with_evidence(transfer.refund_requested(), UNDER_QUORUM)
    yield refused(
        requesting, 1, 3, send_details(pool, "USDC", (43114, 1), "95", by=21), slippage
    ).refund_requested()
    yield refused(
        requesting, 2, 5, send_details(pool, "USDT", (56, 1), "33.25", by=22), slippage
    ).network_status(XferStatus.REFUND_REQUESTED)

    signed = (
        (0, QUORUM, send_details(pool, "USDC", (1, 8453), "1800", by=23)),
        (2, QUORUM + 1, send_details(SendKind.DEPOSIT, "AI", (56, 43114), "52000", by=24)),
        (3, QUORUM + 2, send_details(SendKind.BURN, "AI", (43114, 56), "27500", by=25)),
    )
    for variant, signatures, sent in signed:
        transfer = refused(to_confirm, variant, 12 + variant, sent, slippage)
        yield with_evidence(transfer.refund_requested(), signatures)

    transfer = refused(
        _Is.TRANSFER_CONFIRMING_YOUR_REFUND,
        0,
        7,
        send_details(pool, "USDT", (137, 1), "640", by=26),
        liquidity,
    )
    yield with_evidence(transfer.refund_requested(), QUORUM).refund_submitted()
    transfer = refused(
        _Is.TRANSFER_REFUNDED, 0, 30, send_details(pool, "USDT", (42161, 1), "425", by=27), liquidity
    )
    claimed = with_evidence(transfer.refund_requested(), QUORUM).refund_failed().refund_submitted()
    yield claimed.refund_delayed().refund_completed()
    yield refused(
        _Is.TRANSFER_REFUNDED, 1, 28, send_details(pool, "USDC", (8453, 1), "210", by=28), slippage
    ).network_status(XferStatus.REFUND_DONE)
