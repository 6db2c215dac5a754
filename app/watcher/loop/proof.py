"""Proves blocks by their own headers: the filter shows where no log can be, the receipts' root which there
are.

That proves what only one URL has returned, even twice: an answer that lacks a log lacks it both times. A
block whose receipts do not match its header is proven where another URL returns the same logs. Otherwise it
is left as it was reported, and tried again later (``services.unmatched``). A request for receipts that fails
says nothing about a block.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from app.values.identifiers import BlockNumber
from app.watcher.blocks import Header, ImpossibleAnswer, Log, check_blocks, check_parents, counted, digest
from app.watcher.logs.payouts import log_id, tx_of
from app.watcher.loop.correction import Holding, corrected
from app.watcher.loop.fetch import fetch_all, read_from, read_logs, span_of
from app.watcher.loop.poll import Outcome
from app.watcher.loop.view import Blocks, View
from app.watcher.proofs import BloomTest, match, proves, receipts_root
from app.watcher.rpc.answers import read_receipt
from app.watcher.rpc.faults import Garbled, Incomplete, Lie, Moved, RpcFault, TooLarge
from app.watcher.rpc.node import MOST_CALLS, Node, Wanted
from app.watcher.services.readings import Reported
from app.watcher.steps import Span, SpanState

BLOCKS_AT_ONCE: Final = MOST_CALLS - 1
"""With the block below them, their headers are one request."""

EMPTY_ROOT: Final = receipts_root([])
"""Of a block without a transaction."""


class Unprovable(Exception):
    """The node does not return what a proof needs. The text is for operators."""


class Unmatched(Unprovable):
    """It returns something that is no proof: receipts that do not match the header, or none."""


def holds(node: Node, header: Header, logs: Sequence[Log], wanted: Wanted) -> bool:
    """Whether a block's receipts match its header and have exactly these of the wanted logs.

    :raises NotThere: the node does not return receipts, or not this block's.
    :raises Unmatched: its header does not give its hash either.
    """
    header = header if header.verified else _verified(node, header)
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
    :raises Unprovable: no node returns what is needed.
    :raises Moved: the answers do not fit together; it is tried again later.
    """
    said = _said(reported, span.first, span.last)
    proof, _ = read_from(view, lambda node: _Proof(view, node, Blocks(span.first, span.last), said).made())
    answer = corrected(view, proof.holding(proof.unmatched), reported, span.source)
    return _with(answer, proof, answer.step.spans if answer.step else ())


def prove_again(view: View, unmatched: Sequence[BlockNumber], reported: Reported) -> Outcome:
    """Try again to prove single blocks whose receipts did not match.

    :param unmatched: these blocks, ascending.
    :raises Unprovable: as :func:`prove`, also its other errors.
    """
    blocks = Blocks(unmatched[0], unmatched[-1])
    said = _said(reported, blocks.first, blocks.last)
    proof, node = read_from(view, lambda node: _Proof(view, node, blocks, said, unmatched).made())
    proven = [number for number in unmatched if number <= proof.blocks.last and number not in proof.unmatched]
    others = {BlockNumber(number) for number in range(blocks.first, blocks.last + 1)}.difference(proven)
    spans = [Span(number, number, 0, b"", node.name, SpanState.PROVEN) for number in proven]
    return _with(corrected(view, proof.holding(others), reported, node.name), proof, spans)


def _said(reported: Reported, first: BlockNumber, last: BlockNumber) -> set[BlockNumber]:
    """The blocks of which something was reported."""
    return {each.block for each in reported(first, last) if each.canonical}


def _with(answer: Outcome, proof: _Proof, spans: Sequence[Span]) -> Outcome:
    step = answer.step and replace(
        answer.step, spans=spans, unmatched=proof.unmatched, matched_to=proof.matched_to
    )
    return replace(answer, step=step)


class _Proof(Struct):
    """What the blocks of a range hold by their headers and receipts.

    :param blocks: as far as they could be looked at.
    :param said: blocks of which something was reported.
    :param only: those that are looked at; empty for all.
    :param unmatched: those that could not be proven.
    """

    view: View
    node: Node
    blocks: Blocks
    said: Collection[BlockNumber]
    only: Sequence[BlockNumber] = ()
    logs: list[Log] = field(default_factory=list)
    headers: dict[BlockNumber, Header] = field(default_factory=dict)
    unmatched: list[BlockNumber] = field(default_factory=list)
    matched_to: BlockNumber | None = None
    answering: list[Node] = field(default_factory=list)
    """The URLs that can be used and do not refuse receipts, this one first."""
    read_elsewhere: list[Sequence[Log]] | None = None
    """The logs of the blocks as other URLs return them; None before they were requested."""

    def made(self) -> _Proof:
        """Itself, after all blocks were looked at, or those below one whose receipts were refused.

        :raises Unprovable: no receipts were returned at all.
        """
        view, node, blocks = self.view, self.node, self.blocks
        read = read_logs(view, node, blocks)
        numbers = [BlockNumber(number) for number in range(max(blocks.first - 1, 0), blocks.last + 1)]
        self.headers = node.headers(numbers, verified=True)
        try:
            check_parents(self.headers.values())
            check_blocks(read, self.headers)
        except ImpossibleAnswer as error:
            raise Moved(str(error)) from None
        test = BloomTest(view.wanted.addresses, view.wanted.topics)
        filled = any(header.bloom is not None and any(header.bloom) for header in self.headers.values())
        trusted = filled and all(_is_in_filter(log, self.headers[log.block]) for log in read)
        known = {log.block for log in read}.union(self.said)
        self.answering = [node, *(other for other in view.nodes.usable() if other is not node)]
        for number in self.only or numbers[-len(blocks) :]:
            header = self.headers[number]
            if header.verified and header.receipts_root == EMPTY_ROOT and header.transactions == 0:
                continue
            if number in known or not _is_empty(header, test, trusted=trusted):
                try:
                    self._look_at(header, [log for log in read if log.block == number])
                except Unprovable:
                    if self.matched_to is None and not self.unmatched:
                        raise
                    self.blocks = Blocks(blocks.first, BlockNumber(number - 1))
                    break
        return self

    def holding(self, left: Collection[BlockNumber]) -> Holding:
        """What was found out, without the blocks of which nothing is known."""
        view = self.view
        ours = [log for log in self.logs if view.wanted.covers(log)]
        others = (log for log in self.logs if not view.wanted.covers(log) and log.topics)
        topics = view.wanted.topics
        foreign = {tx_of(log_id(view.terms.chain_id, log)) for log in others if log.topics[0] in topics}
        span = replace(span_of(self.blocks, ours, self.node.name), state=SpanState.PROVEN)
        return Holding(span, ours, self.headers, foreign, left)

    def _look_at(self, header: Header, read: Sequence[Log]) -> None:
        """Find out what a block holds: by receipts that match, or as another URL returns the same.

        :param read: its logs as this URL returned them.
        :raises Unprovable: each request for its receipts failed, and no other URL returns the same.
        """
        try:
            self.logs += self._by_receipts(header)
            self.matched_to = header.number
        except Unprovable as cannot:
            if self._is_agreed(header.number, read):
                self.logs += read
            elif isinstance(cannot, Unmatched):
                self.unmatched.append(header.number)
            else:
                raise

    def _by_receipts(self, header: Header) -> list[Log]:
        """The logs of a block by the first receipts that match. Each URL is tried twice.

        :raises Unprovable: there are none.
        """
        cannot = Unprovable(f"no URL returns receipts of block {header.number}")
        refused: list[Node] = []
        for node in (*self.answering, *self.answering):
            if node not in self.answering:
                continue
            try:
                return _true_logs(node, header)
            except Lie as lie:
                if node is self.node:
                    raise
                self.view.nodes.failed(node, lie)
                self.answering.remove(node)
            except Unmatched as unmatched:
                cannot = unmatched
            except Unprovable as failed:
                if node in refused:
                    self.answering.remove(node)
                refused.append(node)
                cannot = cannot if isinstance(cannot, Unmatched) else failed
        raise cannot

    def _is_agreed(self, number: BlockNumber, read: Sequence[Log]) -> bool:
        """Whether a URL of another provider returns the same logs of a block."""
        if self.read_elsewhere is None:
            self.read_elsewhere = []
            for other in self.view.nodes.usable():
                if other.voice != self.node.voice:
                    with suppress(RpcFault):
                        self.read_elsewhere.append(fetch_all(self.view, other, self.blocks).logs)
        found = ([log for log in logs if log.block == number] for logs in self.read_elsewhere)
        return any(digest(logs) == digest(read) for logs in found)


def _is_empty(header: Header, test: BloomTest, *, trusted: bool) -> bool:
    """Whether the header itself proves that no wanted log is in its block.

    One that does not give its own hash proves nothing.

    Some chains fill no filter at all, or leave some logs out of it. An empty filter is believed only next to
    others that are not empty, or where there was no transaction. No filter is believed next to one that lacks
    a log of its block.
    """
    if not header.verified:
        return False
    if header.receipts_root == EMPTY_ROOT:
        return True
    if header.bloom is None or not trusted:
        return False
    return not test.may_hold(header.bloom)


def _is_in_filter(log: Log, header: Header) -> bool:
    return BloomTest((log.address,), log.topics[:1]).may_hold(header.bloom)


def _true_logs(node: Node, header: Header) -> list[Log]:
    """All logs of a block, from its receipts, in their order, each with the index that the node gives it.

    :raises Unmatched: they are not whole, or the chain computes its root or its hash in another way.
    :raises Unprovable: the request for them failed.
    """
    try:
        if not header.verified:
            header = _verified(node, header)
        receipts = [read_receipt(raw) for raw in node.receipts(header.number)]
    except Lie:
        raise
    except (Garbled, Incomplete, TooLarge) as fault:
        raise Unmatched(f"it returns no receipts of block {header.number}: {fault}") from None
    except RpcFault as fault:
        raise Unprovable(f"it returns no receipts of block {header.number}: {fault}") from None
    if not match(header, receipts):
        raise Unmatched(f"the receipts of block {header.number} do not match its header")
    return [
        replace(log, block=header.number, block_hash=header.hash, tx_index=place)
        for place, receipt in enumerate(receipts)
        for log in counted(receipt.logs)
    ]


def _verified(node: Node, header: Header) -> Header:
    """The node's own header of the same block: another URL's may give the hash.

    :raises Unmatched: it does not.
    """
    own = node.header(header.number)
    if own is None or own.hash != header.hash or not own.verified:
        raise Unmatched(f"the header of block {header.number} does not give its hash")
    return own
