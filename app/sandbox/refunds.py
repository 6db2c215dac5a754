"""The evidence of refunds, with signatures that the bridge contracts' rule accepts.

The validators' keys are no secret: each is the Keccak-256 of "sandbox validator" and a number. They sign
for made-up transfers here and hold no power anywhere else.
"""

from typing import Final

from app.refunds.quorum import signing_digest
from app.refunds.request import RefundRequest, encode_request
from app.sandbox.transfer_builder import SendDetails, TransferBuilder
from app.values.codes import SendKind
from app.values.crypto import keccak256, sign_digest
from app.values.identifiers import ChainId

VALIDATOR_KEYS: Final = tuple(keccak256(f"sandbox validator {number}".encode()) for number in range(1, 6))
"""Private keys, in falling order of the power that the network document gives their addresses."""

UNDER_QUORUM: Final = 2
QUORUM: Final = 3
"""How many of the most powerful validators reach two thirds of the power, and how many do not."""


def refund_request(transfer_id: str, details: SendDetails) -> RefundRequest:
    """Return the request that refunds all of a send to its sender."""
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
