"""Ranges of blocks: what one reading leaves of an earlier one, and how far they go without a gap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from app.domain.keys import BlockNumber
from app.domain.watching.steps import Span, SpanState

UNKNOWN_DIGEST = b""


def replaced(
    kept: Iterable[Span], new: Iterable[Span], *, forget_from: BlockNumber | None = None
) -> list[Span]:
    """What is kept of some spans after others were read, ascending and without overlaps.

    :param forget_from: whatever is kept of this block and above goes first.
    """
    spans = list(kept)
    if forget_from is not None:
        spans = list(_without(spans, forget_from, None))
    for span in new:
        spans = [*_without(spans, span.first, span.last), span]
    return _joined(sorted(spans, key=lambda span: span.first))


def reaches(spans: Iterable[Span], start: BlockNumber, states: Iterable[SpanState]) -> BlockNumber | None:
    """The last block up to which spans of these states go on without a gap; None where ``start`` has none.

    :param spans: ascending, without overlaps; those below ``start`` may be missing.
    """
    wanted, reached = set(states), start - 1
    for span in spans:
        if span.first > reached + 1:
            break
        if span.state not in wanted:
            if span.last > reached:
                break
            continue
        reached = max(reached, span.last)
    return BlockNumber(reached) if reached >= start else None


def _without(spans: Iterable[Span], first: BlockNumber, last: BlockNumber | None) -> Iterator[Span]:
    """The spans without a range of blocks. Of one that is cut the digest is not known any more."""
    for span in spans:
        if span.last < first or (last is not None and span.first > last):
            yield span
            continue
        if span.first < first:
            yield replace(span, last=BlockNumber(first - 1), count=0, digest=UNKNOWN_DIGEST)
        if last is not None and span.last > last:
            yield replace(span, first=BlockNumber(last + 1), count=0, digest=UNKNOWN_DIGEST)


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Neighbours that will not be compared any more as one."""
    result: list[Span] = []
    for span in spans:
        if result and _belong_together(result[-1], span):
            before = result.pop()
            count = before.count + span.count
            result.append(replace(span, first=before.first, count=count, digest=UNKNOWN_DIGEST))
        else:
            result.append(span)
    return result


def _belong_together(one: Span, following: Span) -> bool:
    if one.last + 1 != following.first or one.state is not following.state:
        return False
    return one.state is SpanState.PROVEN or (one.state is SpanState.REREAD and one.source == following.source)
