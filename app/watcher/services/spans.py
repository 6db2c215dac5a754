"""The ranges of a chain that were read, and how they lose what was known of them.

A ``chain.reorged`` removes what was accepted before it, no matter who reported it. If another reporter
reports one of a watched chain, it also removes what the watcher has read from the present blocks. So what was
read there counts as unknown, even if two readings of a node agree, and is read and reported again before it
is proven (docs/chains.md#one-reporter).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import asdict, replace
from sqlalchemy import Connection, Row, delete, insert

from app.transfers.rules.certainty import WATCHER
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.models import WatchSpan
from app.watcher.queries import Reorgs, reorgs_since, spans_between
from app.watcher.rules.steps import BLOCKS_AGAIN, UNKNOWN_DIGEST, Span, SpanState, replaced

REORGS_TO: Final = "reorgs_to"
"""In a chain's ``extra``: up to this position of the log its watcher has looked at reorganisations."""

_CHUNK: Final = 500


def store_spans(
    connection: Connection,
    chain_id: ChainId,
    spans: Sequence[Span],
    forget_from: BlockNumber | None = None,
) -> None:
    """Write the spans that are new, or were read again. Only those next to them are read.

    :param forget_from: those from this block on are removed first.
    """
    if not spans and forget_from is None:
        return
    firsts = [span.first for span in spans]
    first = min(firsts if forget_from is None else [*firsts, forget_from])
    last = max(span.last for span in spans) if forget_from is None else None
    before = spans_between(connection, chain_id, first, last)
    after = replaced(before, spans, forget_from=forget_from)
    gone = [span.first for span in before if span not in after]
    for start in range(0, len(gone), _CHUNK):
        some = WatchSpan.first.in_(gone[start : start + _CHUNK])
        connection.execute(delete(WatchSpan).where(WatchSpan.chain_id == chain_id, some))
    new = [span for span in after if span not in before]
    if rows := [{**asdict(span), "chain_id": chain_id, "state": span.state.value} for span in new]:
        connection.execute(insert(WatchSpan), rows)


def reorgs_of_others(connection: Connection, row: Row[*tuple[Any, ...]], max_reorg: int) -> Reorgs:
    """The reorganisations since the last step, and from which block others removed what was read.

    Of a chain that was read by a version that did not look, only those count that a reorganisation of now
    could reach: it may have had a reporter for years before it was watched.

    :param row: of the chain, before the step. What was above its ``live_to`` was removed before.
    """
    looked_to = row.extra.get(REORGS_TO)
    above = row.live_to - max_reorg - 1 if looked_to is None and row.live_to is not None else -1
    found = reorgs_since(connection, row.chain_id, looked_to or 0, above, reporter=WATCHER)
    is_read = row.live_to is not None and found.from_block is not None and found.from_block <= row.live_to
    return Reorgs(found.newest or looked_to or 0, found.from_block if is_read else None)


def without_reorgs_to(extra: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in extra.items() if name != REORGS_TO}


def doubt(
    connection: Connection,
    row: Row[*tuple[Any, ...]],
    cursor: Mapping[str, Any],
    from_block: BlockNumber,
    max_reorg: int,
) -> dict[str, Any]:
    """Note that what was read from a block on has to be read and reported again.

    Deeper than reorganisations go, payouts are forgotten that had left the delay queue. There the whole chain
    is read again, as when a contract is added. Several reorganisations in a row come so far, or one of long
    ago.

    :param cursor: how far the chain is read after the step.
    :returns: the columns of the chain's row that change.
    """
    if from_block < row.live_to - max_reorg:
        connection.execute(delete(WatchSpan).where(WatchSpan.chain_id == row.chain_id))
        return {"backfilled_to": None, "live_from": cursor["live_to"] + 1}
    known = spans_between(connection, row.chain_id, from_block, None)
    unknown = [part for span in known if span.last >= from_block for part in _unknown(span, from_block)]
    store_spans(connection, row.chain_id, unknown)
    return {}


def _unknown(span: Span, from_block: BlockNumber) -> Iterator[Span]:
    """A span that has to be read again: as it was read, or where it was joined to others, in parts."""
    unknown = replace(span, count=0, digest=UNKNOWN_DIGEST, state=SpanState.READ, weighed=False)
    if span.state is SpanState.READ:
        yield unknown
        return
    for first in range(max(span.first, from_block), span.last + 1, BLOCKS_AGAIN):
        last = min(span.last, first + BLOCKS_AGAIN - 1)
        yield replace(unknown, first=BlockNumber(first), last=BlockNumber(last))
