"""The id under which the pool bridge remembers that a request was taken (docs/interface.md#withdraw-ids).

It leaves the reference out: requests of two transfers that agree in seqnum, receiver, token and amount share
one, and the contract pays it once. The requests of vaults and pegged bridges have no seqnum; they are told
apart by the reference, which is the transfer's own.
"""

from collections.abc import Collection, Iterable, Mapping

from app.domain.codes import SendKind
from app.domain.keys import TransferId
from app.domain.refund.request import RefundRequest, UnreadableRequest, decode_request
from app.domain.transfer_ids import pool_withdraw_id

PaidIds = Mapping[bytes, TransferId]
"""Withdraw ids that were paid for another transfer, each with one such transfer."""


def withdraw_id(request: RefundRequest) -> bytes | None:
    """The 32-byte id of a pool's request; None of the other kinds."""
    if request.chain_id is None or request.seqnum is None:
        return None
    return pool_withdraw_id(
        chain_id=request.chain_id,
        seqnum=request.seqnum,
        receiver=request.receiver,
        token=request.token,
        amount=request.amount,
    )


def withdraw_id_of(wd_onchain: bytes) -> bytes | None:
    """The id of these bytes where they are a pool's request, whatever is known of the transfer."""
    try:
        return withdraw_id(decode_request(SendKind.POOL, wd_onchain))
    except UnreadableRequest:
        return None


def paid_elsewhere(
    transfer_id: TransferId, ids: Iterable[bytes], paid: Mapping[bytes, Collection[TransferId]]
) -> PaidIds:
    """Of a transfer's withdraw ids those that were paid for others, each with the lowest of these.

    :param paid: by withdraw id the transfers whose refunds were paid under it.
    """
    found = {each: [other for other in paid.get(each, ()) if other != transfer_id] for each in ids}
    return {each: min(others) for each, others in found.items() if others}
