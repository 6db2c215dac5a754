"""The refund request (``wd_onchain``): what validators sign, what the contract decodes, its withdraw id.

One message per kind of send (docs/interface/contracts.md#withdraw-request): ``WithdrawMsg`` for a pool send,
``Withdraw`` for a deposit, ``Mint`` for a burn. All three hold the receiver, the token, the amount and the
transfer id; the rest differs.

The withdraw id of a pool's request leaves the transfer id out: requests of two transfers that agree in
seqnum, receiver, token and amount share one id, and the contract pays it once. The requests of vaults and
pegged bridges have no seqnum; they differ by the transfer id.

A client requests a refund by ``withdraw_req`` (docs/api/withdrawLiquidity.md#rules). It is not signed, so it
does not show who requests. It names a transfer, and nothing in it is a fact.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Final

from google.protobuf.message import DecodeError
from msgspec import Struct

from app.transfers.rules.events.contract_ids import pool_withdraw_id
from app.transfers.rules.refunds.refund_pb2 import REFUND_TRANSFER, Mint, Withdraw, WithdrawMsg, WithdrawReq
from app.values.amounts import MAX_UINT256
from app.values.codes import SendKind
from app.values.crypto import ADDRESS_BYTES, HASH_BYTES, minimal_big_endian
from app.values.identifiers import ChainId, TransferId
from app.values.wire_values import parse_transfer_id

MAX_REQUEST_BYTES: Final = 160
"""No request is longer: two uint64, three addresses, an amount and an id with their tags need less."""

_UINT64_MAX: Final = 2**64 - 1


class UnreadableRequest(ValueError):
    """These bytes are no refund request of the requested kind; the message says why."""


class RefundRequest(Struct, frozen=True):
    """Addresses are 20 bytes, ``amount`` is in the source token's smallest unit. ``ref_id`` is the transfer
    id (32 bytes); on a pool's liquidity withdrawal it is empty or short. ``chain_id`` and ``seqnum``
    belong to the pool kind, ``ref_chain_id`` to the other two, ``burn_account`` (deposit) and
    ``depositor`` (burn) too, None where the message leaves them out.
    """

    kind: SendKind
    receiver: bytes
    token: bytes
    amount: int
    ref_id: bytes
    chain_id: ChainId | None = None
    seqnum: int | None = None
    ref_chain_id: ChainId | None = None
    burn_account: bytes | None = None
    depositor: bytes | None = None

    @property
    def stated_chain_id(self) -> int | None:
        """The chain that the request names: the source chain of the transfer, on a refund of any kind."""
        return self.chain_id if self.kind is SendKind.POOL else self.ref_chain_id


def decode_request(kind: SendKind, wd_onchain: bytes) -> RefundRequest:
    """Decode ``wd_onchain`` as the request that pays a send of ``kind`` back. Raises UnreadableRequest.

    Only the canonical encoding is accepted, as the validators' encoder writes it: fields in ascending order,
    each once, in the shortest form. The contract's own decoder reads only field numbers: it ignores the wire
    type of a field it knows, uses the last of repeated fields, cuts integers to 64 bits and skips unknown
    fields. So other encodings may mean one thing here and another there.
    """
    if len(wd_onchain) > MAX_REQUEST_BYTES:
        raise UnreadableRequest(f"it has {len(wd_onchain)} bytes, more than a refund request can have")
    try:
        request = _DECODERS[kind](wd_onchain)
    except DecodeError:
        raise UnreadableRequest("it is not a protobuf message") from None
    fault = _fault(request)
    if fault is None and _ENCODERS[kind](request) != wd_onchain:
        fault = "it has fields that are unknown, repeated, out of order or not minimally encoded"
    if fault is not None:
        raise UnreadableRequest(fault)
    return request


def encode_request(request: RefundRequest) -> bytes:
    """The canonical protobuf of ``request``. Raises ValueError for one that :func:`decode_request` would
    refuse.
    """
    if fault := _fault(request):
        raise ValueError(fault)
    return _ENCODERS[request.kind](request)


def _fault(request: RefundRequest) -> str | None:
    """Why the contract would not accept it, or why it cannot be a refund of any transfer, or None."""
    for name, address in (("receiver", request.receiver), ("token", request.token)):
        if len(address) != ADDRESS_BYTES:
            return f"its {name} has {len(address)} bytes, not 20"
    for name, optional in (("burn_account", request.burn_account), ("depositor", request.depositor)):
        if optional is not None and len(optional) != ADDRESS_BYTES:
            return f"its {name} has {len(optional)} bytes, not 20"
    if not 0 < request.amount <= MAX_UINT256:
        return "its amount is zero" if request.amount == 0 else "its amount is over 2^256-1"
    short_id_allowed = request.kind is SendKind.POOL
    if len(request.ref_id) > HASH_BYTES or (len(request.ref_id) < HASH_BYTES and not short_id_allowed):
        return f"its reference has {len(request.ref_id)} bytes, not 32"
    return _number_fault(request)


def _number_fault(request: RefundRequest) -> str | None:
    if not 0 < (request.stated_chain_id or 0) <= _UINT64_MAX:
        return "it names no chain"
    if request.kind is SendKind.POOL and not 0 <= (request.seqnum or 0) <= _UINT64_MAX:
        return "its seqnum is not a uint64"
    return None


def _decode_pool(wd_onchain: bytes) -> RefundRequest:
    message = WithdrawMsg.FromString(wd_onchain)
    return RefundRequest(
        kind=SendKind.POOL,
        receiver=message.receiver,
        token=message.token,
        amount=int.from_bytes(message.amount, "big"),
        ref_id=message.refid,
        chain_id=ChainId(message.chainid),
        seqnum=message.seqnum,
    )


def _decode_deposit(wd_onchain: bytes) -> RefundRequest:
    message = Withdraw.FromString(wd_onchain)
    return RefundRequest(
        kind=SendKind.DEPOSIT,
        receiver=message.receiver,
        token=message.token,
        amount=int.from_bytes(message.amount, "big"),
        ref_id=message.ref_id,
        ref_chain_id=ChainId(message.ref_chain_id),
        burn_account=message.burn_account or None,
    )


def _decode_burn(wd_onchain: bytes) -> RefundRequest:
    message = Mint.FromString(wd_onchain)
    return RefundRequest(
        kind=SendKind.BURN,
        receiver=message.account,
        token=message.token,
        amount=int.from_bytes(message.amount, "big"),
        ref_id=message.ref_id,
        ref_chain_id=ChainId(message.ref_chain_id),
        depositor=message.depositor or None,
    )


def _encode_pool(request: RefundRequest) -> bytes:
    return WithdrawMsg(
        chainid=request.chain_id,
        seqnum=request.seqnum,
        receiver=request.receiver,
        token=request.token,
        amount=minimal_big_endian(request.amount),
        refid=request.ref_id,
    ).SerializeToString(deterministic=True)


def _encode_deposit(request: RefundRequest) -> bytes:
    return Withdraw(
        token=request.token,
        receiver=request.receiver,
        amount=minimal_big_endian(request.amount),
        burn_account=request.burn_account,
        ref_chain_id=request.ref_chain_id,
        ref_id=request.ref_id,
    ).SerializeToString(deterministic=True)


def _encode_burn(request: RefundRequest) -> bytes:
    return Mint(
        token=request.token,
        account=request.receiver,
        amount=minimal_big_endian(request.amount),
        depositor=request.depositor,
        ref_chain_id=request.ref_chain_id,
        ref_id=request.ref_id,
    ).SerializeToString(deterministic=True)


_DECODERS: Final[dict[SendKind, Callable[[bytes], RefundRequest]]] = {
    SendKind.POOL: _decode_pool,
    SendKind.DEPOSIT: _decode_deposit,
    SendKind.BURN: _decode_burn,
}
_ENCODERS: Final[dict[SendKind, Callable[[RefundRequest], bytes]]] = {
    SendKind.POOL: _encode_pool,
    SendKind.DEPOSIT: _encode_deposit,
    SendKind.BURN: _encode_burn,
}


NO_TRANSFER: Final = TransferId(b"")
"""Replaces the transfer id where a withdrawal of liquidity used up the withdraw id."""

PaidIds = Mapping[bytes, TransferId]
"""Withdraw ids that were paid for another transfer, each with one such transfer, or NO_TRANSFER."""


def withdraw_id(request: RefundRequest) -> bytes | None:
    """The 32-byte id of a pool's request; None for the other kinds."""
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
    """The id of these bytes where they are a pool's request."""
    try:
        return withdraw_id(decode_request(SendKind.POOL, wd_onchain))
    except UnreadableRequest:
        return None


def withdraw_ids_of(requests: Iterable[bytes]) -> dict[bytes, ChainId]:
    """The ids of the pool requests, each with the chain that the request names."""
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
    """A transfer's withdraw ids that were paid for other transfers, each with the lowest of these.

    ``ids`` has the chain of each, ``paid`` by id the transfers whose refunds were paid under it, and ``used``
    by id and chain the transfers for which a block of that chain used it up.
    """
    found: dict[bytes, TransferId] = {}
    for each, chain_id in ids.items():
        if others := {*paid.get(each, ()), *used.get((each, chain_id), ())} - {transfer_id}:
            found[each] = min(others)
    return found


def paid_for_words(other: TransferId) -> str:
    return f"for transfer 0x{other.hex()}" if other else "for a withdrawal of liquidity"


INSTEAD: Final = (
    "send the base64 of a WithdrawReq message whose xfer_id is the transfer's id and whose withdraw_type is 1"
)
_STANDARD: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_URL_SAFE: Final = str.maketrans("-_", "+/")


class WithdrawRequest(Struct, frozen=True):
    """A request to be paid out.

    ``refund_of`` is the transfer whose refund is requested, None where something else is (liquidity, a share
    of fees). ``req_id`` is the client's own number, of 64 bits.
    """

    refund_of: TransferId | None
    req_id: int


def decode_base64(text: str) -> bytes:
    """Decode base64 of either alphabet, padded or not: protobuf's JSON accepts all of them.

    :raises ValueError: it is not base64.
    """
    plain = text.translate(_URL_SAFE)
    padded = plain if "=" in plain else plain + "=" * (-len(plain) % 4)
    if not _STANDARD.fullmatch(padded) or len(padded) % 4:
        raise ValueError(f"is not base64: {INSTEAD}")
    return base64.b64decode(padded)


def read_withdraw_request(raw: bytes) -> WithdrawRequest:
    """Decode ``withdraw_req``.

    :raises ValueError: it is no such message, or requests a refund and names no transfer; the text says
        what to send instead.
    """
    if not raw:
        raise ValueError(f"is missing: {INSTEAD}")
    try:
        message = WithdrawReq.FromString(raw)
    except DecodeError:
        raise ValueError(f"is not a WithdrawReq message: {INSTEAD}") from None
    if message.withdraw_type != REFUND_TRANSFER:
        return WithdrawRequest(None, message.req_id)
    try:
        return WithdrawRequest(parse_transfer_id(message.xfer_id), message.req_id)
    except ValueError as fault:
        raise ValueError(f"its xfer_id {fault}") from None
