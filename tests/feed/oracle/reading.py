"""A line of the feed in its one form, and what its transfer id proves (docs/ingest.md#the-events)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from app.values.crypto import keccak256
from tests.feed.oracle.world import World

Line = Mapping[str, Any]
Body = dict[str, Any]

BLOCK: Final = ("block", "block_hash", "log_index")
ON_CHAIN: Final = ("chain_id", *BLOCK)
FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "transfer.submitted": (
        *("src_chain_id", "src_tx_hash", "dst_chain_id", "symbol", "amount", "sender", "receiver"),
    ),
    "transfer.sent": (
        *("kind", "src_chain_id", "dst_chain_id", "symbol", "token", "amount", "sender", "receiver"),
        *("src_tx_hash", "nonce", "max_slippage", "contract", *BLOCK),
    ),
    "transfer.confirmed": ON_CHAIN,
    "transfer.failed": ("reason", *ON_CHAIN),
    "network.status": ("xfer_status",),
    "transfer.delayed": ("dst_tx_hash", "delayed_id", *ON_CHAIN),
    "transfer.released": ("dst_tx_hash", "amount", *ON_CHAIN),
    "refund.requested": (),
    "refund.prepared": ("wd_onchain",),
    "refund.signed": ("signature",),
    "refund.submitted": ("tx_hash", *ON_CHAIN),
    "refund.failed": ("tx_hash", *ON_CHAIN),
    "refund.delayed": ("delayed_id", "tx_hash", *ON_CHAIN),
    "refund.completed": ("tx_hash", *ON_CHAIN),
    "liquidity.added": ("symbol", "amount", *BLOCK),
    "liquidity.withdrawn": ("symbol", "amount", "withdraw_id", *BLOCK),
    "withdraw.done": ("withdraw_id", "ref_id", *BLOCK),
    "validators.updated": ("signers", "powers", *BLOCK),
    "chain.head": ("block", "block_hash"),
    "chain.reorged": ("from_block",),
}  # fmt: skip
"""What each type has next to its id, type, time and subject."""

HASHES: Final = ("src_tx_hash", "dst_tx_hash", "tx_hash", "block_hash", "delayed_id", "withdraw_id", "ref_id")
ACCOUNTS: Final = ("sender", "receiver", "token", "contract")
PROOF: Final = ("sender", "receiver", "token", "amount", "dst_chain_id", "nonce", "src_chain_id")

_ADDRESS = re.compile(r"(0[xX])?([0-9a-fA-F]{40})")
_HASH = re.compile(r"(0[xX])?([0-9a-fA-F]{64})")
_LOG = re.compile(r"(\d+):(?:0[xX])?([0-9a-fA-F]{64}):(?:0[xX])?([0-9a-fA-F]{64}):(\d+)(:.*)?")
_INTEGER = re.compile(r"\s*\+?(0[xX][0-9a-fA-F]+|\d+)\s*")


def read(line: Line, world: World) -> Body:
    """The line with each value in its one form; what is missing, null or unknown is left out."""
    body: Body = {"id": event_id(line["id"]), "type": line["type"], "at": time(line["at"])}
    body["subject"] = hex32(line["transfer_id"]) if "transfer_id" in line else int(line["chain_id"])
    for name in FIELDS[line["type"]]:
        if line.get(name) is not None:
            body[name] = _value(name, line[name], world)
    if "nonce" in body:
        body["nonce"] = nonce(body["nonce"])
    if line["type"] == "transfer.sent":
        with_prefix = body | {name: prefixed(body[name]) for name in ACCOUNTS if name in body}
        return with_prefix if is_proven(with_prefix) else body
    return body


def _value(name: str, value: Any, world: World) -> Any:
    if name in HASHES:
        return hex32(value)
    if name in ACCOUNTS:
        return value.lower() if value[:2].lower() == "0x" else value
    if name == "amount":
        return int(value)
    if name == "symbol":
        return world.symbols.get(value.lower(), value)
    if name == "signers":
        return tuple(each.lower() for each in value)
    if name == "powers":
        return tuple(map(int, value))
    return value


def prefixed(account: str) -> str:
    """The account, read as an address where it has the digits of one."""
    found = _ADDRESS.fullmatch(account)
    return "0x" + found[2].lower() if found else account


def event_id(text: str) -> str:
    """Of something in a block ``CHAIN:0xBLOCKHASH:0xTXHASH:LOGINDEX``, however its hashes are spelled."""
    found = _LOG.fullmatch(text)
    if not found:
        return text
    chain, block, transaction, index, rest = found.groups()
    return f"{int(chain)}:0x{block.lower()}:0x{transaction.lower()}:{int(index)}{rest or ''}"


def hex32(text: str) -> str:
    found = _HASH.fullmatch(text)
    return "0x" + found[2].lower() if found else text


def nonce(value: int | str) -> int | str:
    found = _INTEGER.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return value
    return int(found[1], 16) if found[1][:2].lower() == "0x" else int(found[1])


def time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def is_proven(send: Body) -> bool:
    return send["subject"] in computed_ids(send)


def contradicts_its_id(send: Body) -> bool:
    """Whether its fields give another id, by whichever version of its contract took it."""
    computed = list(computed_ids(send))
    complete = send["kind"] == "pool" or "contract" in send
    return complete and bool(computed) and send["subject"] not in computed


def computed_ids(send: Body) -> Iterator[str]:
    """The ids that the contracts make of these fields (docs/interface/contracts.md#transfer-ids)."""
    if not all(name in send for name in PROOF) or not isinstance(send["nonce"], int):
        return
    found = [_ADDRESS.fullmatch(send[name]) for name in ("sender", "receiver", "token")]
    if not all(each and each[1] for each in found):
        return
    sender, receiver, token = (bytes.fromhex(each[2]) for each in found if each)
    amount = send["amount"].to_bytes(32, "big")
    destination, count, source = (
        send[n].to_bytes(8, "big") for n in ("dst_chain_id", "nonce", "src_chain_id")
    )
    if send["kind"] == "pool":
        yield _id(sender, receiver, token, amount, destination, count, source)
        return
    if "contract" in send and (contract := _ADDRESS.fullmatch(send["contract"])):
        by = bytes.fromhex(contract[2])
        yield _id(sender, token, amount, destination, receiver, count, source, by)
        if send["kind"] == "burn":
            yield _id(sender, token, amount, bytes(8), receiver, count, source, by)
    if send["kind"] == "deposit":
        yield _id(sender, token, amount, destination, receiver, count, source)
    else:
        yield _id(sender, token, amount, receiver, count, source)


def _id(*parts: bytes) -> str:
    return "0x" + keccak256(b"".join(parts)).hex()
