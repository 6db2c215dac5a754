"""Reads the logs of a range of blocks from one node, and checks each against the block that it names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from app.feed.lines import MAX_AHEAD
from app.values.identifiers import BlockNumber
from app.watcher.loop.view import MAX_TRIES, Blocks, View
from app.watcher.rpc.faults import FaultyAnswer, Moved
from app.watcher.rpc.node import Node, RangeAnswer, Wanted
from app.watcher.rpc.sizes import in_pieces
from app.watcher.rules.blocks import (
    BlockId,
    Header,
    ImpossibleAnswer,
    Log,
    check_blocks,
    check_logs,
    check_parents,
    digest,
    in_order,
)
from app.watcher.rules.proofs import BloomTest
from app.watcher.rules.steps import Span, SpanState

T = TypeVar("T")


class Fetched(Struct, frozen=True):
    """The logs of a range, as one node returned them and its headers confirm.

    :param headers: of every block with a log, of the last block, and of the one before the first.
    :param doubtful: the filter of the last block says that it has logs, but none was returned.
    :param agreed: another provider returned the same when it was read.
    """

    blocks: Blocks
    logs: Sequence[Log]
    headers: Mapping[BlockNumber, Header]
    source: str
    doubtful: bool
    agreed: bool = False

    @property
    def end(self) -> Header:
        return self.headers[self.blocks.last]

    def pieces(self, most: int) -> Sequence[Fetched]:
        """The range in parts of at most so many logs, or of one block. All but the last end with a log."""
        found: list[Fetched] = []
        count, first, last = 0, self.blocks.first, self.blocks.first
        for block, logs in Counter(log.block for log in self.logs).items():
            if count and count + logs > most:
                found.append(self._part(first, last))
                count, first = 0, BlockNumber(last + 1)
            count, last = count + logs, block
        return [*found, self._part(first, self.blocks.last)]

    def _part(self, first: BlockNumber, last: BlockNumber) -> Fetched:
        lowest = first - 1 if first == self.blocks.first else first
        return replace(
            self,
            blocks=Blocks(first, last),
            logs=[log for log in self.logs if first <= log.block <= last],
            headers={number: header for number, header in self.headers.items() if lowest <= number <= last},
            doubtful=self.doubtful and last == self.blocks.last,
        )

    def span(self) -> Span:
        span = span_of(self.blocks, self.logs, self.source)
        return replace(span, state=SpanState.REREAD, weighed=True) if self.agreed else span

    def stored_headers(self) -> list[Header]:
        """The headers by which a later reorganisation is found: of blocks with logs, and the ends."""
        stored = {log.block for log in self.logs} | {self.blocks.first - 1, self.blocks.last}
        headers = (self.headers[number] for number in sorted(self.headers.keys() & stored))
        return [Header(header.number, header.hash, header.parent_hash, header.at) for header in headers]


def span_of(blocks: Blocks, logs: Sequence[Log], source: str) -> Span:
    return Span(blocks.first, blocks.last, len(logs), digest(logs), source)


def fetch(
    node: Node,
    wanted: Wanted,
    blocks: Blocks,
    *,
    anchor: BlockId | None = None,
    head: Header | None = None,
    linked: bool = False,
) -> Fetched:
    """The logs of a range with the headers that confirm them.

    :param anchor: the block before the range, as it was read; the range has to build on it.
    :param head: a header returned before the logs. Where it is the last block's, it has to be the same after
        them.
    :param linked: the headers of all blocks have to lead from the anchor to the last one.
    :raises Moved: the answers do not fit together, as if the chain had changed between them.
    :raises FaultyAnswer: a log was not requested, or its own block does not have it.
    """
    before = BlockNumber(blocks.first - 1) if blocks.first > 0 else None
    answer = node.logs(wanted, blocks.first, blocks.last, before, linked=linked)
    if anchor is not None and answer.before is not None and answer.before.hash != anchor.hash:
        raise Moved(f"block {anchor.number} changed while the blocks above it were read")
    if head is not None and head.number == answer.end.number and head.hash != answer.end.hash:
        raise Moved(f"block {head.number} changed while it was read")
    logs = _in_order(answer.logs, wanted, blocks)
    ends = [answer.end] if answer.before is None else [answer.end, answer.before]
    headers = {header.number: header for header in (*ends, *answer.between)}
    if missing := sorted({log.block for log in logs} - headers.keys()):
        headers.update(node.headers(missing))
    try:
        check_parents(headers.values())
        check_blocks(logs, headers)
    except ImpossibleAnswer as error:  # of several answers: the chain may have changed between them
        raise Moved(str(error)) from None
    return Fetched(blocks, logs, headers, node.name, _is_doubtful(answer.end, logs, wanted))


def check_times(view: View, headers: Iterable[Header]) -> None:
    """Refuse blocks of the future: they would stall the chain, as the feed accepts nothing of them.

    :raises FaultyAnswer: a header is further ahead of the clock than the feed accepts.
    """
    now = view.clock()
    for header in headers:
        if header.at > now + MAX_AHEAD:
            ahead = round((header.at - now).total_seconds())
            raise FaultyAnswer(
                f"the time of block {header.number} is {ahead} seconds ahead of the gateway's clock"
            )


def _in_order(logs: Sequence[Log], wanted: Wanted, blocks: Blocks) -> Sequence[Log]:
    """:raises FaultyAnswer: a log was not requested, or they contradict each other."""
    ordered = in_order(logs)
    try:
        check_logs(ordered, blocks.first, blocks.last, wanted.addresses, wanted.topics)
    except ImpossibleAnswer as error:
        raise FaultyAnswer(str(error)) from None
    return ordered


def _is_doubtful(end: Header, logs: Sequence[Log], wanted: Wanted) -> bool:
    """Whether a log of the last block's filter is missing: nodes may serve a block before they index it."""
    if end.bloom is None or not any(end.bloom) or (logs and logs[-1].block == end.number):
        return False
    return BloomTest(wanted.addresses, wanted.topics).may_hold(end.bloom)


Range = TypeVar("Range", Fetched, RangeAnswer)


def in_parts(node: Node, blocks: Blocks, question: Callable[[Blocks], Range]) -> Iterator[Range]:
    """The answers about a range, each about as many blocks as the node takes at once."""

    def piece(first: int, many: int) -> Range:
        start = blocks.first + first
        return question(Blocks(BlockNumber(start), BlockNumber(start + many - 1)))

    return in_pieces(node.blocks, len(blocks), piece, node.client.monotonic, lambda part: len(part.logs))


def fetch_all(view: View, node: Node, blocks: Blocks) -> Fetched:
    """As :func:`fetch`, in as many requests as the node needs for the range.

    :raises Moved: also where the range is not on the branch that was read.
    """
    logs: list[Log] = []
    headers: dict[BlockNumber, Header] = {}

    def part(of: Blocks) -> Fetched:
        before = headers.get(BlockNumber(of.first - 1))
        return fetch(node, view.wanted, of, anchor=None if before is None else before.id)

    for fetched in in_parts(node, blocks, part):
        _check_stored(view, fetched.end)
        logs += fetched.logs
        headers.update(fetched.headers)
    return Fetched(blocks, logs, headers, node.name, doubtful=False)


def read_logs(view: View, node: Node, blocks: Blocks) -> tuple[Sequence[Log], Header]:
    """The logs of a range and the header of its last block, to compare them with what another URL returned.

    :raises Moved: the range is not on the branch that was read.
    """
    answers = list(in_parts(node, blocks, lambda of: node.logs(view.wanted, of.first, of.last)))
    for answer in answers:
        _check_stored(view, answer.end)
    logs = [log for answer in answers for log in answer.logs]
    return _in_order(logs, view.wanted, blocks), answers[-1].end


def _check_stored(view: View, header: Header) -> None:
    stored = view.stored_header(header.number)
    if stored is not None and stored.hash != header.hash:
        raise Moved(f"block {stored.number} is not the one that was read")


def read_from(view: View, question: Callable[[Node], T], *, rather_not: str | None = None) -> tuple[T, Node]:
    """The answer of the first URL that gives one. It is requested again a few times while the chain changes.

    :param rather_not: as in ``Nodes.request``.
    :raises NoNode: no URL can be used now.
    :raises Moved: the chain changed each time.
    """
    for _ in range(MAX_TRIES - 1):
        with suppress(Moved):
            return view.nodes.request(question, rather_not=rather_not)
    return view.nodes.request(question, rather_not=rather_not)
