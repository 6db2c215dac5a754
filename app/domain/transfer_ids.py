"""Ids that the bridge contracts compute: of sends and of pool withdraws (docs/interface.md#transfer-ids).

Addresses are 20 bytes, amounts are in the token's smallest unit, ids come out as 32 bytes.
Arguments outside their EVM type raise ValueError.
"""

from app.domain.amounts import is_uint256
from app.domain.crypto import ADDRESS_BYTES, keccak256


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
    """Return the transfer id of a pool send."""
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
    """Return the transfer id of a deposit. The id of a version 1 vault leaves the vault out: None."""
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
    """Return the transfer id of a burn at a version 2 pegged bridge.

    ``to_chain_id`` is the number in the burn itself, where 0 means the original chain.
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
    """Return the transfer id of a burn at a version 1 pegged bridge, which pays on the original chain."""
    return keccak256(
        _address(account)
        + _address(token)
        + _uint256(amount)
        + _address(to_account)
        + _uint64(nonce)
        + _uint64(src_chain_id)
    )


def pool_withdraw_id(*, chain_id: int, seqnum: int, receiver: bytes, token: bytes, amount: int) -> bytes:
    """Return the id under which the pool bridge remembers that a withdraw request has been paid."""
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
