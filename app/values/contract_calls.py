"""Transactions that wallets sign, and the data of contract calls whose arguments all have a fixed length."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from app.values.crypto import keccak256
from app.values.identifiers import ChainId

_WORD: Final = 32


class Transaction(Struct, frozen=True):
    """What a wallet signs and sends. ``to`` is an address with its checksum, ``data`` is 0x hex, ``value`` is
    native coin in smallest units, a decimal string.
    """

    chain_id: ChainId
    to: str
    data: str
    value: str = "0"


def call_data(signature: str, *arguments: bytes | int) -> str:
    """The data of a call in 0x hex: selector and arguments. Addresses are 20 bytes, numbers are unsigned.

    :param signature: name and types of the function, such as ``approve(address,uint256)``.
    """
    words = (each if isinstance(each, bytes) else each.to_bytes(_WORD, "big") for each in arguments)
    data = keccak256(signature.encode("ascii"))[:4] + b"".join(word.rjust(_WORD, b"\0") for word in words)
    return f"0x{data.hex()}"
