"""Blocks against their own headers: the filter says where no log can be, the receipts' root what there is.

That proves what one URL alone has told, twice and alike: an answer that lacks a log lacks it both times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.keys import BlockNumber
from app.domain.watching.blocks import Header, Log
from app.domain.watching.steps import Missed, Span, SpanState, Step
from app.watcher.checks import answers
from app.watcher.checks.bloom import BloomTest
from app.watcher.checks.receipts import Receipt, proves, receipts_root
from app.watcher.loop.fetch import in_windows, read_logs, span_of
from app.watcher.loop.plan import Blocks
from app.watcher.loop.poll import Told
from app.watcher.loop.view import View
from app.watcher.rpc.faults import Lie, Moved, RpcFault
from app.watcher.rpc.node import MOST_CALLS, Node, Wanted
from app.watcher.rpc.parse import read_receipt
from app.watcher.translate import translate

BLOCKS_AT_ONCE: Final = MOST_CALLS - 1
"""With the one below them their headers are one request."""

EMPTY_ROOT: Final = receipts_root([])
"""Of a block without a transaction."""


class Unprovable(Exception):
    """The node does not tell what a proof needs. The text is for operators."""


@dataclass(frozen=True, slots=True)
class _Proof:
    headers: Mapping[BlockNumber, Header]
    logs: Sequence[Log]
    told: Sequence[Log]


def holds(node: Node, header: Header, logs: Sequence[Log], wanted: Wanted) -> bool:
    """Whether a block's receipts match its header and have just these logs of those that are wanted.

    :raises NotThere: the node does not tell receipts, or not this block's.
    """
    receipts = [read_receipt(raw) for raw in node.receipts(header.number)]
    return proves(header, receipts, logs, wanted.addresses, wanted.topics)


def span_to_prove(view: View) -> Span | None:
    """The first span that was reread by one URL alone, cut to what is proven at once."""
    for span in view.readings.spans:
        if span.state is SpanState.REREAD:
            last = min(span.last, span.first + BLOCKS_AT_ONCE - 1)
            return Span(span.first, BlockNumber(last), 0, b"", span.source, span.state)
    return None


def prove(view: View, span: Span) -> tuple[Told, Missed]:
    """Prove the blocks of a span, and tell what is in them: the feed knows what it has heard before.

    :returns: with what was missed if something of it is new to the feed.
    :raises NoNode: no URL can be asked now.
    :raises Unprovable: the node does not tell what is needed.
    :raises Moved: the answers do not fit together; it is tried again later.
    """
    blocks = Blocks(span.first, span.last)
    proof, node = in_windows(view, lambda node: _proof(view, node, blocks))
    live_to = view.readings.live_to
    told = translate(
        view.network,
        view.terms,
        proof.logs,
        proof.headers,
        view.readings.waiting,
        read_to=blocks.last if live_to is None else live_to.number,
        final_to=view.deep,
    )
    new = span_of(blocks, proof.logs, node.name)
    step = Step(
        at=view.clock(),
        events=told.events,
        spans=(Span(new.first, new.last, new.count, new.digest, new.source, SpanState.PROVEN),),
        waiting=told.waiting,
        done=told.done,
        source=node.name,
        calls=view.calls(),
    )
    missing = max(1, len(proof.logs) - len(proof.told))
    return Told(step, told.unreadable), Missed(span.first, span.last, missing, 0, span.source, node.name)


def _proof(view: View, node: Node, blocks: Blocks) -> _Proof:
    told = read_logs(view, node, blocks)
    numbers = [BlockNumber(number) for number in range(max(blocks.first - 1, 0), blocks.last + 1)]
    headers = node.headers(numbers)
    try:
        answers.check_parents(headers.values())
        answers.check_blocks(told, headers)
    except answers.Lie as error:
        raise Moved(str(error)) from None
    test = BloomTest(view.wanted.addresses, view.wanted.topics)
    trusted = any(header.bloom is not None and any(header.bloom) for header in headers.values())
    by_block: dict[BlockNumber, list[Log]] = {}
    for log in told:
        by_block.setdefault(log.block, []).append(log)
    logs: list[Log] = []
    for number in range(blocks.first, blocks.last + 1):
        header = headers[BlockNumber(number)]
        known = by_block.get(header.number, [])
        if known or not _is_empty(header, test, trusted=trusted):
            logs += _true_logs(node, header, view.wanted)
    return _Proof(headers, logs, told)


def _is_empty(header: Header, test: BloomTest, *, trusted: bool) -> bool:
    """Whether the header itself proves that no wanted log is in its block.

    Some chains fill no filter at all. One that has no bit is believed only beside others that have some, or
    where there was no transaction.
    """
    if header.receipts_root == EMPTY_ROOT:
        return True
    if header.bloom is None or not (trusted or any(header.bloom)):
        return False
    return not test.may_hold(header.bloom)


def _true_logs(node: Node, header: Header, wanted: Wanted) -> list[Log]:
    """The wanted logs of a block, from its receipts.

    :raises Unprovable: the node does not tell them, or the chain makes its root in a way of its own.
    """
    try:
        receipts = [read_receipt(raw) for raw in node.receipts(header.number)]
    except Lie:
        raise
    except RpcFault as fault:
        raise Unprovable(f"it returns no receipts of block {header.number}: {fault}") from None
    if header.receipts_root is None or receipts_root(receipts) != header.receipts_root:
        raise Unprovable(f"the receipts of block {header.number} do not match its header")
    return _wanted(header, receipts, wanted)


def _wanted(header: Header, receipts: Sequence[Receipt], wanted: Wanted) -> list[Log]:
    """The wanted logs, each in the place that it has among all of the block."""
    addresses, topics = set(wanted.addresses), set(wanted.topics)
    everything = [log for receipt in receipts for log in receipt.logs]
    return [
        Log(header.number, header.hash, log.tx_hash, place, log.address, log.topics, log.data)
        for place, log in enumerate(everything)
        if log.address in addresses and log.topics and log.topics[0] in topics
    ]
