"""Proves blocks by their own headers: the filter shows where no log can be, the receipts' root which there
are.

That proves what only one URL has returned, even twice: an answer that lacks a log lacks it both times.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from msgspec.structs import replace

from app.values.identifiers import BlockNumber
from app.watcher.blocks import Header, ImpossibleAnswer, Log, check_blocks, check_parents
from app.watcher.logs.payouts import log_id
from app.watcher.loop.correction import Holding, corrected
from app.watcher.loop.fetch import read_from, read_logs, span_of
from app.watcher.loop.poll import Outcome
from app.watcher.loop.view import Blocks, View
from app.watcher.proofs import BloomTest, proves, receipts_root
from app.watcher.rpc.answers import read_receipt
from app.watcher.rpc.faults import Lie, Moved, RpcFault
from app.watcher.rpc.node import MOST_CALLS, Node, Wanted
from app.watcher.services.readings import Reported
from app.watcher.steps import Span, SpanState

BLOCKS_AT_ONCE: Final = MOST_CALLS - 1
"""With the block below them, their headers are one request."""

EMPTY_ROOT: Final = receipts_root([])
"""Of a block without a transaction."""


class Unprovable(Exception):
    """The node does not return what a proof needs. The text is for operators."""


def holds(node: Node, header: Header, logs: Sequence[Log], wanted: Wanted) -> bool:
    """Whether a block's receipts match its header and have exactly these of the wanted logs.

    :raises NotThere: the node does not return receipts, or not this block's.
    """
    receipts = [read_receipt(raw) for raw in node.receipts(header.number)]
    return proves(header, receipts, logs, wanted.addresses, wanted.topics)


def span_to_prove(view: View) -> Span | None:
    """The first span that was reread by the same URL only, cut to what is proven at once."""
    for span in view.readings.spans:
        if span.state is SpanState.REREAD:
            last = min(span.last, span.first + BLOCKS_AT_ONCE - 1)
            return Span(span.first, BlockNumber(last), 0, b"", span.source, span.state)
    return None


def prove(view: View, span: Span, reported: Reported) -> Outcome:
    """Prove the blocks of a span, and correct what was reported of them.

    :param reported: what was reported of blocks. Where anything was, no filter is believed.
    :returns: with what was missed, if something of it is new to the feed.
    :raises NoNode: no URL can be used now.
    :raises Unprovable: the node does not return what is needed.
    :raises Moved: the answers do not fit together; it is tried again later.
    """
    blocks = Blocks(span.first, span.last)
    said = {each.block for each in reported(blocks.first, blocks.last) if each.canonical}
    holding, _ = read_from(view, lambda node: _proven(view, node, blocks, said))
    return corrected(view, holding, reported, span.source)


def _proven(view: View, node: Node, blocks: Blocks, said: Collection[BlockNumber]) -> Holding:
    """What the blocks hold by their headers and receipts.

    :param said: blocks of which something was reported.
    """
    read = read_logs(view, node, blocks)
    numbers = [BlockNumber(number) for number in range(max(blocks.first - 1, 0), blocks.last + 1)]
    headers = node.headers(numbers)
    try:
        check_parents(headers.values())
        check_blocks(read, headers)
    except ImpossibleAnswer as error:
        raise Moved(str(error)) from None
    test = BloomTest(view.wanted.addresses, view.wanted.topics)
    trusted = any(header.bloom is not None and any(header.bloom) for header in headers.values())
    known = {log.block for log in read}.union(said)
    logs: list[Log] = []
    for number in range(blocks.first, blocks.last + 1):
        header = headers[BlockNumber(number)]
        if header.receipts_root == EMPTY_ROOT and header.transactions == 0:
            continue
        if number in known or not _is_empty(header, test, trusted=trusted):
            logs += _true_logs(node, header)
    ours = [log for log in logs if view.wanted.covers(log)]
    foreign = {log_id(view.terms.chain_id, log) for log in logs if not view.wanted.covers(log)}
    span = replace(span_of(blocks, ours, node.name), state=SpanState.PROVEN)
    return Holding(span, ours, headers, foreign)


def _is_empty(header: Header, test: BloomTest, *, trusted: bool) -> bool:
    """Whether the header itself proves that no wanted log is in its block.

    Some chains fill no filter at all. An empty filter is believed only next to others that are not empty, or
    where there was no transaction.
    """
    if header.receipts_root == EMPTY_ROOT:
        return True
    if header.bloom is None or not (trusted or any(header.bloom)):
        return False
    return not test.may_hold(header.bloom)


def _true_logs(node: Node, header: Header) -> list[Log]:
    """All logs of a block, from its receipts, each in its place.

    :raises Unprovable: the node does not return them, or the chain computes its root in another way.
    """
    try:
        receipts = [read_receipt(raw) for raw in node.receipts(header.number)]
    except Lie:
        raise
    except RpcFault as fault:
        raise Unprovable(f"it returns no receipts of block {header.number}: {fault}") from None
    if header.receipts_root is None or receipts_root(receipts) != header.receipts_root:
        raise Unprovable(f"the receipts of block {header.number} do not match its header")
    everything = [log for receipt in receipts for log in receipt.logs]
    return [
        Log(header.number, header.hash, log.tx_hash, place, log.address, log.topics, log.data)
        for place, log in enumerate(everything)
    ]
