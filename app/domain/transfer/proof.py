"""Whether a send's fields give the id that it is reported under (docs/interface.md#proven-sends).

The contracts hash what they took into the id, so who reports other fields needs another id.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache
from typing import Any, Final, NamedTuple

from app.domain.amounts import is_ascii_digits
from app.domain.codes import SendKind
from app.domain.crypto import parse_evm_address
from app.domain.keys import MAX_UINT64
from app.domain.transfer.events import TransferEvent, TransferSent
from app.domain.transfer_ids import (
    burn_transfer_id,
    burn_transfer_id_v1,
    deposit_transfer_id,
    pool_transfer_id,
)

_ORIGINAL_CHAIN: Final = 0
"""What a burn names for the original chain, whichever that is."""


class Proof(Enum):
    """What the fields of a send say of its id."""

    PROVEN = auto()
    CONTRADICTED = auto()
    UNKNOWN = auto()
    """Fields are missing, or are not of an EVM."""


@lru_cache(maxsize=1024)
def proof_of(send: TransferSent) -> Proof:
    """Compute the id by the formulas of the contracts, and compare it with the one reported.

    A deposit or burn that names no contract can only be proven by the formula of version 1, which leaves the
    contract out; it cannot be contradicted.
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
    """What every formula has; addresses of 20 bytes."""

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
    """Whether the event is a send whose fields give its id."""
    return isinstance(event, TransferSent) and proof_of(event) is Proof.PROVEN


def _nonce(text: str | None) -> int | None:
    if text is None or not is_ascii_digits(text) or (number := int(text)) > MAX_UINT64:
        return None
    return number


def _ids(send: TransferSent, taken: _Taken, contract: bytes | None) -> Iterator[bytes]:
    """The ids that contracts of each version give such a send."""
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
                yield burn_transfer_id(to_chain_id=_ORIGINAL_CHAIN, bridge=contract, **burned)
            yield burn_transfer_id_v1(**burned)
