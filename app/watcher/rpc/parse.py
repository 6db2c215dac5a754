"""From the JSON of a node to headers and logs. What does not fit is ``Garbled``, never half read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from app.domain.keys import BlockNumber
from app.domain.times import from_unix_microseconds
from app.domain.watching.blocks import Header, Log
from app.watcher.checks.receipts import Receipt
from app.watcher.rpc.faults import Garbled, Lie

_HASH: Final = re.compile(r"0x[0-9a-f]{64}")
_SHAPELESS: Final = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
_MAX_QUANTITY: Final = 18
"""Characters of 64 bits with their 0x: numbers, indices and times of blocks are no longer."""
BLOOM_BYTES: Final = 256
ADDRESS_BYTES: Final = 20
HASH_BYTES: Final = 32


def quantity(raw: Any) -> int:
    """A number such as ``0x1b4``.

    :raises Garbled: it is none.
    """
    try:
        if raw[:2] == "0x" and 2 < len(raw) <= _MAX_QUANTITY and "_" not in raw:
            return int(raw, 16)
    except _SHAPELESS:
        pass
    raise Garbled("its answer has something other than a number where a number is expected")


def read_header(raw: Mapping[str, Any]) -> Header:
    """The header of a block.

    :raises Garbled: a part of it is missing or has another shape.
    """
    try:
        bloom, root = raw.get("logsBloom"), raw.get("receiptsRoot")
        return Header(
            number=BlockNumber(quantity(raw["number"])),
            hash=_hash(raw["hash"]),
            parent_hash=_hash(raw["parentHash"]),
            at=_time(quantity(raw["timestamp"])),
            bloom=None if bloom is None else _bytes(bloom, BLOOM_BYTES),
            receipts_root=None if root is None else _bytes(root, HASH_BYTES),
            transactions=len(held) if isinstance(held := raw.get("transactions"), list) else None,
        )
    except _SHAPELESS:
        raise Garbled("its answer has an incomplete block header") from None


def read_log(raw: Mapping[str, Any]) -> Log:
    """A log of a block that stands.

    :raises Garbled: a part of it is missing or has another shape.
    :raises Lie: it says itself that its block was removed, which an answer about a range cannot hold.
    """
    try:
        if raw.get("removed"):
            raise Lie("its answer has a log marked as removed")
        return Log(
            block=BlockNumber(quantity(raw["blockNumber"])),
            block_hash=_hash(raw["blockHash"]),
            tx_hash=_hash(raw["transactionHash"]),
            index=quantity(raw["logIndex"]),
            address=_bytes(raw["address"], ADDRESS_BYTES),
            topics=tuple(_bytes(topic, HASH_BYTES) for topic in raw["topics"]),
            data=_bytes(raw["data"]),
        )
    except _SHAPELESS:
        raise Garbled("its answer has an incomplete log") from None


def read_receipt(raw: Mapping[str, Any]) -> Receipt:
    """The receipt of a transaction.

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
            logs=[read_log(log) for log in raw["logs"]],
            deposit_nonce=None if nonce is None else quantity(nonce),
            deposit_version=None if version is None else quantity(version),
        )
    except _SHAPELESS:
        raise Garbled("its answer has an incomplete receipt") from None


def _time(seconds: int) -> datetime:
    return from_unix_microseconds(seconds * 1_000_000)


def _hash(raw: str) -> str:
    low = raw.lower()
    if not _HASH.fullmatch(low):
        raise ValueError
    return low


def _bytes(raw: str, length: int | None = None) -> bytes:
    if raw[:2] != "0x":
        raise ValueError
    value = bytes.fromhex(raw[2:])
    if length is not None and len(value) != length:
        raise ValueError
    return value
