"""Blocks, logs and receipts as nodes write them. Only the parts that are needed are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from app.values.crypto import ADDRESS_BYTES, HASH_BYTES
from app.values.identifiers import BlockNumber
from app.values.times import from_unix_microseconds
from app.watcher.rpc.faults import FaultyAnswer, Garbled
from app.watcher.rules.blocks import Header, Log
from app.watcher.rules.headers import covered
from app.watcher.rules.proofs import BLOOM_BYTES, Receipt

_HASH: Final = re.compile(r"0x[0-9a-f]{64}")
SHAPELESS: Final = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
"""Raised where a part of an answer is missing or of another type."""

_MAX_QUANTITY: Final = 18
"""Characters of 64 bits with their 0x: longer numbers, indices and times are refused."""


def quantity(raw: Any) -> int:
    """A number such as ``0x1b4``, or a JSON number, as a few nodes return it.

    :raises Garbled: it is none.
    """
    if type(raw) is int and 0 <= raw < 1 << 64:
        return raw
    try:
        if raw[:2] == "0x" and 2 < len(raw) <= _MAX_QUANTITY and "_" not in raw:
            return int(raw, 16)
    except SHAPELESS:
        pass
    raise Garbled("its answer has something other than a number where a number is expected")


def read_header(raw: Mapping[str, Any], *, verified: bool = False) -> Header:
    """Read a header.

    :param verified: find out whether it gives its hash, for a proof: that takes longer than reading it.
    :raises Garbled: a part that everything needs is missing or has another shape.
    """
    try:
        return Header(
            number=BlockNumber(quantity(raw["number"])),
            hash=_hash(raw["hash"]),
            parent_hash=_hash(raw["parentHash"]),
            at=from_unix_microseconds(quantity(raw["timestamp"]) * 1_000_000),
            bloom=_maybe_bytes(raw.get("logsBloom"), BLOOM_BYTES),
            receipts_root=_maybe_bytes(raw.get("receiptsRoot"), HASH_BYTES),
            transactions=len(held) if isinstance(held := raw.get("transactions"), list) else None,
            verified=verified and bool(covered(raw)),
        )
    except SHAPELESS:
        raise Garbled("its answer has an incomplete block header") from None


def read_log(raw: Mapping[str, Any]) -> Log:
    """A log of a canonical block.

    :raises Garbled: a part of it is missing or has another shape.
    :raises FaultyAnswer: it says that its block was removed, which is impossible in an answer about a range.
    """
    try:
        if raw.get("removed") is True:
            raise FaultyAnswer("its answer has a log marked as removed")
        return Log(
            block=BlockNumber(quantity(raw["blockNumber"])),
            block_hash=_hash(raw["blockHash"]),
            tx_hash=_hash(raw["transactionHash"]),
            index=quantity(raw["logIndex"]),
            address=_bytes(raw["address"], ADDRESS_BYTES),
            topics=tuple(_bytes(topic, HASH_BYTES) for topic in raw["topics"]),
            data=_bytes(raw["data"]),
            tx_index=0 if (place := raw.get("transactionIndex")) is None else quantity(place),
        )
    except SHAPELESS:
        raise Garbled("its answer has an incomplete log") from None


def is_pending(raw: Any) -> bool:
    """Whether a log is of no block yet. Some nodes return those, too, behind the ones that were requested."""
    return isinstance(raw, dict) and raw.get("blockNumber", raw) is None and raw.get("blockHash", raw) is None


_OF_NO_BLOCK: Final = {"blockNumber": "0x0", "blockHash": "0x" + "00" * HASH_BYTES, "removed": False}


def read_receipt(raw: Mapping[str, Any]) -> Receipt:
    """The receipt of a transaction. Its logs name no block: that is the one whose receipts were requested.

    :raises Garbled: a part of it is missing or has another shape.
    """
    try:
        root = raw.get("root")
        nonce, version = raw.get("depositNonce"), raw.get("depositReceiptVersion")
        return Receipt(
            type=quantity(raw.get("type") or "0x0"),
            outcome=_bytes(root, HASH_BYTES) if root else quantity(raw["status"]),
            cumulative_gas=quantity(raw["cumulativeGasUsed"]),
            bloom=_bytes(raw["logsBloom"], BLOOM_BYTES),
            logs=[read_log({**log, **_OF_NO_BLOCK}) for log in raw["logs"]],
            deposit_nonce=None if nonce is None else quantity(nonce),
            deposit_version=None if version is None else quantity(version),
        )
    except SHAPELESS:
        raise Garbled("its answer has an incomplete receipt") from None


def _hash(raw: str) -> str:
    low = raw.lower()
    if not _HASH.fullmatch(low):
        raise ValueError
    return low


def _maybe_bytes(raw: Any, length: int) -> bytes | None:
    """None where these are not so many bytes."""
    try:
        return _bytes(raw, length)
    except SHAPELESS:
        return None


def _bytes(raw: str, length: int | None = None) -> bytes:
    if raw[:2] != "0x":
        raise ValueError
    value = bytes.fromhex(raw[2:])
    if length is not None and len(value) != length:
        raise ValueError
    return value
