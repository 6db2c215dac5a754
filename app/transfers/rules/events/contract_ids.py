"""Ids that the bridge contracts compute, and whether the fields of a reported send give its id: the contracts
hash these fields into it.

Addresses are 20 bytes, amounts are in the token's smallest unit, ids come out as 32 bytes. Arguments outside
their EVM type raise ValueError.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from app.network.rules.terms import ORIGINAL_CHAIN
from app.transfers.rules.events.event_types import TransferEvent, TransferSent
from app.values.amounts import is_ascii_digits, is_uint256
from app.values.codes import SendKind
from app.values.crypto import ADDRESS_BYTES, checksum_address, keccak256, parse_evm_address
from app.values.identifiers import MAX_UINT64


def pool_transfer_id(
    *,
    sender: bytes,
    receiver: bytes,
    token: bytes,
    amount: int,
    dst_chain_id: int,
    nonce: int,
    src_chain_id: int,
) -> bytes:
    return keccak256(
        _address(sender)
        + _address(receiver)
        + _address(token)
        + _uint256(amount)
        + _uint64(dst_chain_id)
        + _uint64(nonce)
        + _uint64(src_chain_id)
    )


def deposit_transfer_id(
    *,
    depositor: bytes,
    token: bytes,
    amount: int,
    mint_chain_id: int,
    mint_account: bytes,
    nonce: int,
    src_chain_id: int,
    vault: bytes | None,
) -> bytes:
    """``vault`` is None for version 1, whose id does not contain it."""
    return keccak256(
        _address(depositor)
        + _address(token)
        + _uint256(amount)
        + _uint64(mint_chain_id)
        + _address(mint_account)
        + _uint64(nonce)
        + _uint64(src_chain_id)
        + (b"" if vault is None else _address(vault))
    )


def burn_transfer_id(
    *,
    account: bytes,
    token: bytes,
    amount: int,
    to_chain_id: int,
    to_account: bytes,
    nonce: int,
    src_chain_id: int,
    bridge: bytes,
) -> bytes:
    """At a version 2 pegged bridge. ``to_chain_id`` is the number in the burn itself, where 0 means the
    original chain.
    """
    return keccak256(
        _address(account)
        + _address(token)
        + _uint256(amount)
        + _uint64(to_chain_id)
        + _address(to_account)
        + _uint64(nonce)
        + _uint64(src_chain_id)
        + _address(bridge)
    )


def burn_transfer_id_v1(
    *, account: bytes, token: bytes, amount: int, to_account: bytes, nonce: int, src_chain_id: int
) -> bytes:
    """At a version 1 pegged bridge, which pays on the original chain."""
    return keccak256(
        _address(account)
        + _address(token)
        + _uint256(amount)
        + _address(to_account)
        + _uint64(nonce)
        + _uint64(src_chain_id)
    )


def pool_withdraw_id(*, chain_id: int, seqnum: int, receiver: bytes, token: bytes, amount: int) -> bytes:
    """The id under which the pool bridge stores that a withdraw request has been paid."""
    return keccak256(
        _uint64(chain_id) + _uint64(seqnum) + _address(receiver) + _address(token) + _uint256(amount)
    )


def _address(value: bytes) -> bytes:
    if len(value) != ADDRESS_BYTES:
        raise ValueError(f"an address has 20 bytes, not {len(value)}")
    return value


def _uint64(value: int) -> bytes:
    if not 0 <= value < 2**64:
        raise ValueError(f"{value} is not a uint64")
    return value.to_bytes(8, "big")


def _uint256(value: int) -> bytes:
    if not is_uint256(value):
        raise ValueError(f"{value} is not a uint256")
    return value.to_bytes(32, "big")


class Proof(Enum):
    """The proof of a send's id by its fields."""

    PROVEN = auto()
    CONTRADICTED = auto()
    UNKNOWN = auto()
    """Fields are missing, or are not of an EVM."""


@lru_cache(maxsize=1024)
def proof_of(send: TransferSent) -> Proof:
    """Compute the id by the formulas of the contracts, and compare it with the one reported.

    A deposit or burn that names no contract can be proven only by the formula of version 1, which leaves the
    contract out. It cannot be contradicted.
    """
    taken = _taken(send)
    if taken is None:
        return Proof.UNKNOWN
    contract = None if send.contract is None else parse_evm_address(send.contract)
    if send.transfer_id in _ids(send, taken, contract):
        return Proof.PROVEN
    needs_contract = send.kind is not SendKind.POOL
    return Proof.UNKNOWN if needs_contract and contract is None else Proof.CONTRADICTED


class _Taken(NamedTuple):
    """The inputs of every formula; addresses have 20 bytes."""

    sender: bytes
    receiver: bytes
    token: bytes
    nonce: int


def _taken(send: TransferSent) -> _Taken | None:
    sender, receiver = parse_evm_address(send.sender), parse_evm_address(send.receiver)
    token, nonce = parse_evm_address(send.token or ""), _nonce(send.nonce)
    if sender is None or receiver is None or token is None or nonce is None:
        return None
    return _Taken(sender, receiver, token, nonce)


def is_proven(event: TransferEvent) -> bool:
    return isinstance(event, TransferSent) and proof_of(event) is Proof.PROVEN


_ACCOUNTS: Final = ("sender", "receiver", "token", "contract")
_BARE: Final = 2 * ADDRESS_BYTES
"""Characters of an EVM address without its 0x."""


def in_one_form(send: TransferSent) -> TransferSent:
    """40 hex digits without 0x are an EVM address where the transfer id follows from it. Otherwise they are
    the account of some other chain, and stay as they are.
    """
    bare = {
        name: spelled
        for name in _ACCOUNTS
        if (account := getattr(send, name)) is not None
        and len(account) == _BARE
        and (spelled := evm_form(account)) is not None
    }
    if not bare:
        return send
    spelled_out = replace(send, **bare)
    return spelled_out if is_proven(spelled_out) else send


def evm_form(account: str) -> str | None:
    """The account as an EVM address with its checksum, also where its 0x is left out; None for any other."""
    address = parse_evm_address(f"0x{account}" if len(account) == _BARE else account)
    return None if address is None else checksum_address(address)


def _nonce(text: str | None) -> int | None:
    if text is None or not is_ascii_digits(text) or (number := int(text)) > MAX_UINT64:
        return None
    return number


def _ids(send: TransferSent, taken: _Taken, contract: bytes | None) -> Iterator[bytes]:
    """The ids that the contracts of each version compute for such a send."""
    sender, receiver, token, nonce = taken
    src, dst = send.src_chain_id, send.dst_chain_id
    common: dict[str, Any] = {"token": token, "amount": send.amount, "nonce": nonce, "src_chain_id": src}
    match send.kind:
        case SendKind.POOL:
            yield pool_transfer_id(sender=sender, receiver=receiver, dst_chain_id=dst, **common)
        case SendKind.DEPOSIT:
            minted: dict[str, Any] = {"mint_chain_id": dst, "mint_account": receiver}
            for vault in dict.fromkeys((contract, None)):
                yield deposit_transfer_id(depositor=sender, vault=vault, **minted, **common)
        case SendKind.BURN:
            burned: dict[str, Any] = {"account": sender, "to_account": receiver, **common}
            if contract is not None:
                yield burn_transfer_id(to_chain_id=dst, bridge=contract, **burned)
                yield burn_transfer_id(to_chain_id=ORIGINAL_CHAIN, bridge=contract, **burned)
            yield burn_transfer_id_v1(**burned)
