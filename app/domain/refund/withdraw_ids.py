"""The id under which the pool bridge remembers that a request was taken (docs/interface.md#withdraw-ids).

It leaves the reference out: requests of two transfers that agree in seqnum, receiver, token and amount share
one, and the contract pays it once. The requests of vaults and pegged bridges have no seqnum; they are told
apart by the reference, which is the transfer's own.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Final

from app.domain.codes import SendKind
from app.domain.keys import ChainId, TransferId
from app.domain.refund.request import RefundRequest, UnreadableRequest, decode_request
from app.domain.transfer_ids import pool_withdraw_id

NO_TRANSFER: Final = TransferId(b"")
"""In place of the transfer, of an id that a withdrawal of liquidity used up."""

PaidIds = Mapping[bytes, TransferId]
"""Withdraw ids that were paid for another transfer, each with one such transfer, or NO_TRANSFER."""


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


def withdraw_ids_of(requests: Iterable[bytes]) -> dict[bytes, ChainId]:
    """The ids of those of the requests that are a pool's, each with the chain that the request names."""
    found: dict[bytes, ChainId] = {}
    for wd_onchain in requests:
        with suppress(UnreadableRequest):
            request = decode_request(SendKind.POOL, wd_onchain)
            if request.chain_id is not None and (known := withdraw_id(request)) is not None:
                found[known] = ChainId(request.chain_id)
    return found


def paid_elsewhere(
    transfer_id: TransferId,
    ids: Mapping[bytes, ChainId],
    paid: Mapping[bytes, Collection[TransferId]],
    used: Mapping[tuple[bytes, ChainId], Collection[TransferId]],
) -> PaidIds:
    """Of a transfer's withdraw ids those that were paid for others, each with the lowest of these.

    :param ids: with the chain of each.
    :param paid: by withdraw id the transfers whose refunds were paid under it.
    :param used: by id and chain, for what it was used up in a block of that chain.
    """
    found: dict[bytes, TransferId] = {}
    for each, chain_id in ids.items():
        if others := {*paid.get(each, ()), *used.get((each, chain_id), ())} - {transfer_id}:
            found[each] = min(others)
    return found


def paid_for_words(other: TransferId) -> str:
    """For what an id was paid, in words."""
    return f"for transfer 0x{other.hex()}" if other else "for a withdrawal of liquidity"
