"""Whether the fields of a block's header give the hash that the header names.

The hash is Keccak-256 over the RLP of the header's fields. Which these are differs between chains and grows
with hard forks, so each known order whose fields are given is tried. A chain that computes its hashes in
another way cannot be verified, which is no fault.

Recorded headers verify under each order (tests/watcher/rules/headers.json). No record was found of these, so
they follow the nodes' sources: Granite's fields on Subnet-EVM, a base fee in Authority Round, and Celo
between its Gingerbread fork and its move to a rollup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Final

from app.values.crypto import ADDRESS_BYTES, HASH_BYTES, SIGNATURE_BYTES, keccak256
from app.watcher.rules.proofs import BLOOM_BYTES, encode, encode_list

_Order = tuple[tuple[str, ...], tuple[str, ...]]
"""The fields that each header of an order has, and those that later forks append one after the other."""

_FIRST: Final = (
    "parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom",
    "difficulty", "number", "gasLimit", "gasUsed", "timestamp", "extraData",
)  # fmt: skip
_COMMON: Final = (*_FIRST, "mixHash", "nonce")
_CANCUN: Final = ("blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot")
_GRANITE: Final = ("timestampMilliseconds", "minDelayExcess")
_LATER: Final = (
    "baseFeePerGas",
    "withdrawalsRoot",
    *_CANCUN,
    "requestsHash",
    "blockAccessListHash",
    "slotNumber",
)

_ORDERS: Final[tuple[_Order, ...]] = (
    # Avalanche: the C-Chain, and the chains of Subnet-EVM.
    ((*_COMMON, "extDataHash"), ("baseFeePerGas", "extDataGasUsed", "blockGasCost", *_CANCUN, *_GRANITE)),
    ((*_COMMON, "baseFeePerGas", "blockGasCost"), (*_CANCUN, *_GRANITE)),
    # Viction.
    ((*_COMMON, "validators", "validator", "penalties"), ()),
    # Authority Round: Gnosis before its merge, Fuse.
    ((*_FIRST, "step", "signature"), ("baseFeePerGas",)),
    # Ethereum, its rollups, BNB Smart Chain, Polygon and most others.
    (_COMMON, _LATER),
    # Celo before Gingerbread.
    (("parentHash", *_FIRST[2:7], "number", "gasUsed", "timestamp", "extraData"), ()),
)

_LENGTHS: Final[Mapping[str, int | None]] = {
    "hash": HASH_BYTES, "parentHash": HASH_BYTES, "sha3Uncles": HASH_BYTES, "miner": ADDRESS_BYTES,
    "stateRoot": HASH_BYTES, "transactionsRoot": HASH_BYTES, "receiptsRoot": HASH_BYTES,
    "logsBloom": BLOOM_BYTES, "extraData": None, "mixHash": HASH_BYTES, "nonce": 8,
    "withdrawalsRoot": HASH_BYTES, "parentBeaconBlockRoot": HASH_BYTES, "requestsHash": HASH_BYTES,
    "blockAccessListHash": HASH_BYTES, "extDataHash": HASH_BYTES, "signature": SIGNATURE_BYTES,
    "validators": None, "validator": None, "penalties": None,
}  # fmt: skip
"""The fields that are bytes, with their number, None where any is right. The others are numbers."""

_NAMES: Final = ("hash", *dict.fromkeys(name for always, later in _ORDERS for name in (*always, *later)))

_Items = Mapping[str, bytes | None]
"""The RLP of the fields that a header gives, None for a value that its field cannot have."""


def covered(raw: object) -> tuple[str, ...]:
    """The fields of a header that give the hash that it names; none where no known order does.

    :param raw: any answer to ``eth_getBlockByNumber`` or ``eth_getBlockByHash``.
    """
    for items in _variants(_read(raw)):
        for always, later in _ORDERS:
            names = (*always, *takewhile(items.__contains__, later))
            hashed = [item for name in names if (item := items.get(name)) is not None]
            if len(hashed) == len(names) and encode(keccak256(encode_list(hashed))) == items.get("hash"):
                return names
    return ()


def _read(raw: object) -> _Items:
    if not isinstance(raw, Mapping):
        return {}
    values = {name: raw.get(name) for name in _NAMES}
    values["step"], values["signature"] = _step(values["step"]), _signature(values["signature"])
    return {name: _item(name, value) for name, value in values.items() if value is not None}


def _step(raw: object) -> object:
    """A step of Authority Round in hexadecimal digits: nodes write it as a number or in decimal digits."""
    step = int(raw) if isinstance(raw, str) and raw.isdecimal() and len(raw) < 20 else raw
    return hex(step) if isinstance(step, int) and step >= 0 else step


def _signature(raw: object) -> object:
    """A signature of Authority Round with 0x, which some nodes leave out."""
    return f"0x{raw}" if isinstance(raw, str) and len(raw) == 2 * SIGNATURE_BYTES else raw


def _item(name: str, value: object) -> bytes | None:
    if not isinstance(value, str) or value[:2] != "0x":
        return None
    digits = value[2:]
    number = name not in _LENGTHS
    if number and len(digits) % 2:
        digits = "0" + digits
    try:
        data = bytes.fromhex(digits)
    except ValueError:
        return None
    if 2 * len(data) != len(digits):  # there are spaces between the digits
        return None
    if number:
        return encode(data.lstrip(b"\0")) if data else None
    return encode(data) if _LENGTHS[name] in (None, len(data)) else None


def _variants(given: _Items) -> Iterator[_Items]:
    """The items as given, and for Celo without the validators' common seal: its hash leaves that out."""
    yield given
    extra = given.get("extraData")
    if extra is not None and (unsealed := _unsealed(extra)) is not None:
        yield {**given, "extraData": unsealed}


_VANITY_BYTES: Final = 32
_SEAL_AT: Final = 4
_NO_SEAL: Final = encode((b"", b"", b""))


def _unsealed(item: bytes) -> bytes | None:
    """Celo's extra data with an empty seal: 32 bytes and a list of six. None for any other."""
    start, end = _span(item, 0)
    listed = item[start + _VANITY_BYTES : end]
    if not listed or listed[0] < 0xC0:
        return None
    at, end = _span(listed, 0)
    parts: list[bytes] = []
    while at < end == len(listed) and len(parts) <= 6:
        _, after = _span(listed, at)
        parts.append(listed[at:after])
        at = after
    if len(parts) != 6:
        return None
    parts[_SEAL_AT] = _NO_SEAL
    return encode(item[start : start + _VANITY_BYTES] + encode_list(parts))


def _span(data: bytes, at: int) -> tuple[int, int]:
    """Where the content of the item that begins there begins and ends, as its prefix says."""
    first = data[at]
    if first < 0x80:
        return at, at + 1
    length, start = first & 0x3F, at + 1
    if length > 55:
        start += length - 55
        length = int.from_bytes(data[at + 1 : start], "big")
    return start, start + length
