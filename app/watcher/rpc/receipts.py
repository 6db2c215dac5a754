"""The transactions that a node lists in a block, and their receipts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from app.values.identifiers import BlockNumber
from app.watcher.rpc.answers import SHAPELESS, read_header, read_receipt
from app.watcher.rpc.client import Call
from app.watcher.rpc.faults import FaultyAnswer, Garbled, Incomplete, Moved, NotOffered, NotThere, RpcFault
from app.watcher.rpc.node import Node, header_call, value_of
from app.watcher.rules.blocks import Header
from app.watcher.rules.proofs import Receipt

_OF_BLOCK: Final = "eth_getBlockReceipts"
_OF_TX: Final = "eth_getTransactionReceipt"


class Listed(Struct, frozen=True):
    """A block as a node has it.

    :param header: verified where its fields give its hash.
    :param txs: the hashes of the transactions that it lists, in their order.
    :param receipts: by transaction the receipts in this block that it returned, of those requested.
    """

    header: Header
    txs: Sequence[str]
    receipts: Mapping[str, Receipt]


def listed(node: Node, number: BlockNumber, txs: Sequence[str] = ()) -> Listed | None:
    """A block, and receipts of some transactions, in one request; None where the node does not have it."""
    answers = node.request([header_call(number), *(Call(_OF_TX, [tx]) for tx in txs)])
    try:
        raw = value_of(answers[0])
    except NotThere:
        raw = None
    if raw is None:
        return None
    header = read_header(raw, verified=True)
    if header.number != number:
        raise FaultyAnswer(f"it returned block {header.number} instead of block {number}")
    receipts: dict[str, Receipt] = {}
    for tx, answer in zip(txs, answers[1:], strict=True):
        if (receipt := _receipt(answer, header)) is not None:
            receipts[tx] = receipt
    return Listed(header, _hashes(raw), receipts)


def _receipt(answer: Any, header: Header) -> Receipt | None:
    """None where the node returned nothing of use."""
    try:
        raw = value_of(answer, _OF_TX)
        if raw is None or raw["blockHash"].lower() != header.hash:
            return None
        return read_receipt(raw)
    except (RpcFault, *SHAPELESS):
        return None


def _hashes(raw: Mapping[str, Any]) -> Sequence[str]:
    listed = raw.get("transactions")
    if not isinstance(listed, list):
        return ()
    hashes = [each.get("hash") if isinstance(each, dict) else each for each in listed]
    return [each.lower() for each in hashes if isinstance(each, str)]


def receipts_of_block(node: Node, block: Listed) -> list[Receipt]:
    """The receipts of all transactions of a block, in their order: one by one where the node offers no more.

    :raises Incomplete: it returns something else than receipts, such as null, or not all of them.
    :raises Moved: they are those of another block.
    """
    number = block.header.number
    if block.txs and node.one_by_one:
        return _one_by_one(node, block)
    try:
        answer = value_of(node.request([Call(_OF_BLOCK, [hex(number)])])[0], _OF_BLOCK)
    except NotOffered:
        if not block.txs:
            raise
        node.one_by_one = True
        return _one_by_one(node, block)
    if not isinstance(answer, list):
        raise Incomplete(f"it has no receipts of block {number}")
    return [_of_block(raw, block) for raw in answer]


def _one_by_one(node: Node, block: Listed) -> list[Receipt]:
    answers = node.request([Call(_OF_TX, [tx]) for tx in block.txs])
    found: list[Receipt] = []
    for tx, answer in zip(block.txs, answers, strict=True):
        raw = value_of(answer, _OF_TX)
        if raw is None:
            raise Incomplete(f"it has no receipt of transaction {tx} of block {block.header.number}")
        found.append(_of_block(raw, block))
    return found


def _of_block(raw: Any, block: Listed) -> Receipt:
    if not isinstance(raw, dict):
        raise Garbled("its answer is not a receipt")
    receipt = read_receipt(raw)
    named = raw.get("blockHash")
    if isinstance(named, str) and named.lower() != block.header.hash:
        raise Moved(f"it returned receipts of another block than block {block.header.number}")
    return receipt
