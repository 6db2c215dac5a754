"""The transfers that are refunded, with signatures that the bridge contracts' rule accepts.

The validators' keys are no secret: each is the Keccak-256 of "sandbox validator" and a number. They sign
for made-up transfers here and hold no power anywhere else.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from app.domain.codes import SendKind, TransferHistoryStatus, XferStatus
from app.domain.crypto import keccak256, sign_digest
from app.domain.refund.evidence import signing_digest
from app.domain.refund.request import RefundRequest, encode_request
from app.sandbox.catalogue import sandbox_id
from app.sandbox.journey import Journey, SandboxSend, plan

VALIDATOR_KEYS: Final = tuple(keccak256(f"sandbox validator {number}".encode()) for number in range(1, 6))
"""Private keys, in falling order of the power that the network document gives their addresses."""

UNDER_QUORUM: Final = 2
QUORUM: Final = 3
"""How many of the most powerful validators reach two thirds of the power, and how many do not."""

_Is = TransferHistoryStatus


def refund_request(transfer_id: str, plan: SandboxSend) -> RefundRequest:
    """Return the request that pays all of a send back to its sender."""
    pool = plan.kind is SendKind.POOL
    ref_id = bytes.fromhex(transfer_id.removeprefix("0x"))
    return RefundRequest(
        kind=plan.kind,
        receiver=plan.sender,
        token=plan.token,
        amount=plan.amount,
        ref_id=ref_id,
        chain_id=plan.src_chain_id if pool else None,
        seqnum=int.from_bytes(keccak256(ref_id)[:4], "big") if pool else None,
        ref_chain_id=None if pool else plan.src_chain_id,
    )


def with_evidence(journey: Journey, signatures: int) -> Journey:
    """Tell the refund request of a transfer, and the signatures of its most powerful validators."""
    sent = journey.plan
    wd_onchain = encode_request(refund_request(journey.transfer_id, sent))
    digest = signing_digest(sent.kind, sent.src_chain_id, sent.contract, wd_onchain)
    journey.refund_prepared(wd_onchain)
    for key in VALIDATOR_KEYS[:signatures]:
        journey.refund_signed(sign_digest(digest, key))
    return journey


def refunds(now: datetime) -> Iterator[Journey]:
    """Yield the transfers from the asking for a refund to its end."""

    def refused(
        status: TransferHistoryStatus, variant: int, hours: int, sent: SandboxSend, reason: XferStatus
    ) -> Journey:
        journey = Journey(sandbox_id(status, variant), sent, now - timedelta(hours=hours))
        return journey.sent().confirmed().network_status(reason)

    pool, slippage, liquidity = SendKind.POOL, XferStatus.BAD_SLIPPAGE, XferStatus.BAD_LIQUIDITY
    requesting, to_confirm = _Is.TRANSFER_REQUESTING_REFUND, _Is.TRANSFER_REFUND_TO_BE_CONFIRMED

    journey = refused(requesting, 0, 4, plan(pool, "USDT", (1, 56), "750", by=20), liquidity)
    yield with_evidence(journey.refund_requested(), UNDER_QUORUM)
    yield refused(requesting, 1, 3, plan(pool, "USDC", (43114, 1), "95", by=21), slippage).refund_requested()
    yield refused(requesting, 2, 5, plan(pool, "USDT", (56, 1), "33.25", by=22), slippage).network_status(
        XferStatus.REFUND_REQUESTED
    )

    signed = (
        (0, QUORUM, plan(pool, "USDC", (1, 8453), "1800", by=23)),
        (2, QUORUM + 1, plan(SendKind.DEPOSIT, "AI", (56, 43114), "52000", by=24)),
        (3, QUORUM + 2, plan(SendKind.BURN, "AI", (43114, 56), "27500", by=25)),
    )
    for variant, signatures, sent in signed:
        journey = refused(to_confirm, variant, 12 + variant, sent, slippage)
        yield with_evidence(journey.refund_requested(), signatures)

    journey = refused(
        _Is.TRANSFER_CONFIRMING_YOUR_REFUND, 0, 7, plan(pool, "USDT", (137, 1), "640", by=26), liquidity
    )
    yield with_evidence(journey.refund_requested(), QUORUM).refund_submitted()
    journey = refused(_Is.TRANSFER_REFUNDED, 0, 30, plan(pool, "USDT", (42161, 1), "425", by=27), liquidity)
    yield with_evidence(journey.refund_requested(), QUORUM).refund_submitted().refund_completed()
    yield refused(
        _Is.TRANSFER_REFUNDED, 1, 28, plan(pool, "USDC", (8453, 1), "210", by=28), slippage
    ).network_status(XferStatus.REFUND_DONE)
