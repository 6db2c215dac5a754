"""Which blocks are read next. Pure: from what is stored and from a node's answer about the newest blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from app.network.watch_terms import FINALIZED, WatchTerms
from app.values.identifiers import BlockNumber
from app.watcher.blocks import Header
from app.watcher.rpc.node import MOST_CALLS, Look
from app.watcher.steps import ChainReadings, Span, SpanState

LINKED_BLOCKS: Final = MOST_CALLS - 1
"""Blocks whose headers one request can return. A longer range needs another URL that has the head."""

FIRST_BLOCK: Final = BlockNumber(0)


class Blocks(Struct, frozen=True):
    """A range of blocks, both ends included."""

    first: BlockNumber
    last: BlockNumber

    def __len__(self) -> int:
        return self.last - self.first + 1

    def cut(self, most: int) -> Blocks:
        """Its first part, of at most so many blocks."""
        return Blocks(self.first, BlockNumber(min(self.last, self.first + most - 1)))


def final_block(terms: WatchTerms, look: Look) -> BlockNumber | None:
    """The newest block that is final, by the node's answer or by its depth; None while none is."""
    if terms.finality == FINALIZED:
        return None if look.final is None else min(look.final, look.head.number)
    final = look.head.number - int(terms.finality)
    return BlockNumber(final) if final >= 0 else None


def live_start(terms: WatchTerms, head: BlockNumber, final: BlockNumber | None) -> BlockNumber:
    """Where live reading begins: above the final blocks, which can be backfilled later."""
    above = FIRST_BLOCK if final is None else min(final + 1, head)
    return BlockNumber(max(terms.from_block, above))


def live_blocks(first: BlockNumber, head: BlockNumber, final: BlockNumber | None, most: int) -> Blocks | None:
    """The next range of live reading; None where the newest block was read.

    A range ends at the last final block at most. So a reorganisation takes back little more than it replaced,
    and a range becomes final as a whole.
    """
    if first > head:
        return None
    last = head if final is None or not first <= final < head else final
    return Blocks(first, last).cut(most)


def backfill_blocks(terms: WatchTerms, readings: ChainReadings, most: int) -> Blocks | None:
    """The next range of the backfill; None where all below the live reading was read."""
    if readings.live_from is None:
        return None
    start = terms.from_block if readings.backfilled_to is None else readings.backfilled_to + 1
    first, last = max(start, terms.from_block), readings.live_from - 1
    return Blocks(BlockNumber(first), BlockNumber(last)).cut(most) if first <= last else None


def spans_to_reread(spans: Iterable[Span], final: BlockNumber, most: int) -> Sequence[Span]:
    """The first spans without a gap that are final and were read once: at most so many blocks, or one span.

    Those of one source come together, so that one other source can read them all.
    """
    chosen: list[Span] = []
    for span in spans:
        if span.state is not SpanState.READ or span.last > final:
            if chosen:
                break
            continue
        if chosen and not _go_together(chosen, span, most):
            break
        chosen.append(span)
    return chosen


def _go_together(chosen: Sequence[Span], span: Span, most: int) -> bool:
    before = chosen[-1]
    return (
        before.last + 1 == span.first
        and before.source == span.source
        and bool(before.digest) == bool(span.digest)
        and span.last - chosen[0].first + 1 <= most
    )


def headers_needed_from(
    headers: Sequence[Header], live_to: BlockNumber, max_reorg: int
) -> BlockNumber | None:
    """The block below which no reorganisation needs a header any more; None where all are needed.

    One as deep as a reorganisation may go stays, so that each has a block to start from.
    """
    deep = [header.number for header in headers if header.number < live_to - max_reorg]
    return max(deep) if deep else None
