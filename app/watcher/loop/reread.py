"""What is final is read a second time: what was missing is found, and what is there is proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.domain.transfer.events import Event, RefundDelayed, TransferDelayed
from app.domain.watching.blocks import Log
from app.domain.watching.steps import Missed, Span, SpanState, Step
from app.watcher.checks.digests import digest
from app.watcher.loop.disputes import Truth, settle
from app.watcher.loop.fetch import in_windows, read_logs, span_of
from app.watcher.loop.plan import Blocks, spans_to_reread
from app.watcher.loop.poll import Told
from app.watcher.loop.view import TooDeep, View
from app.watcher.translate import reorged_event, retells, translate


def due(view: View) -> Sequence[Span]:
    """The spans that are to be read again next, all of one source; none where nothing is due."""
    live_to = view.readings.live_to
    if view.final is None or live_to is None:
        return ()
    return spans_to_reread(view.readings.spans, min(view.final, live_to.number), view.window.size)


def reread(view: View) -> Told | None:
    """Read the next final spans again, by another URL where one answers; None where none is due.

    :raises NoNode: no URL can be asked now.
    :raises Moved: the answers do not fit to what was read; it is tried again later.
    :raises TooDeep: what was read is not what the chain says, and lies too deep to be taken back.
    """
    spans = due(view)
    if not spans:
        return None
    blocks = Blocks(spans[0].first, spans[-1].last)
    source = spans[0].source
    (logs, names), _ = in_windows(
        view, lambda node: (read_logs(view, node, blocks), node.name), rather_not=source
    )
    agreed = [span for span in spans if _digest(logs, span) == span.digest]
    if agreed:
        state = SpanState.REREAD if names == source else SpanState.PROVEN
        return Told(_kept(view, [replace(span, state=state) for span in agreed]))
    return _differs(view, spans[0], [log for log in logs if log.block <= spans[0].last], names)


def _digest(logs: Sequence[Log], span: Span) -> bytes:
    return digest(log for log in logs if span.first <= log.block <= span.last)


def _kept(view: View, spans: Sequence[Span]) -> Step:
    return Step(at=view.clock(), spans=spans, source=view.source, calls=view.calls())


def _differs(view: View, span: Span, again: Sequence[Log], by: str) -> Told:
    """The second reading of a span is not as the first, or the first is not known any more."""
    truth = settle(view, span, again, by)
    new = replace(span_of(truth.fetched.blocks, truth.fetched.logs, truth.fetched.source), state=truth.state)
    if new.digest == span.digest:  # the second reading was the faulty one
        return Told(_kept(view, [replace(span, state=truth.state)]))
    missed: Sequence[Missed] = ()
    if span.digest:
        missed = (_missed(span, new, by),)
    else:
        new = replace(new, state=SpanState.READ)
    take_back = any(map(retells, truth.fetched.logs)) or (bool(span.digest) and new.count <= span.count)
    live_to = view.readings.live_to
    read_to = span.last if live_to is None else live_to.number
    told = translate(
        view.network,
        view.terms,
        truth.fetched.logs,
        truth.fetched.headers,
        [each for each in view.readings.waiting if not take_back or each.block < span.first],
        read_to=span.last if take_back else read_to,
        final_to=view.settled_to,
    )
    step = Step(
        at=view.clock(),
        events=told.events,
        spans=(new,),
        waiting=told.waiting,
        done=told.done,
        missed=missed,
        source=truth.fetched.source,
        calls=view.calls(),
    )
    return Told(_taken_back(view, span, truth, step) if take_back else step, told.unreadable)


def _missed(span: Span, new: Span, by: str) -> Missed:
    """What the first reading lacked, or had too much; by number, for the logs are not kept."""
    missing, surplus = max(0, new.count - span.count), max(0, span.count - new.count)
    if missing == surplus:  # as many, and others
        missing = surplus = 1
    return Missed(span.first, span.last, missing, surplus, span.source, by)


def _as_further_fact(event: Event) -> Event:
    """What says that a payout is queued has the id of what said before that it was paid: it needs its own.

    Ids as in docs/ingest.md#ids: a further fact of the same log appends its type.
    """
    if isinstance(event, TransferDelayed | RefundDelayed):
        return replace(event, id=f"{event.id}:{event.type.value}")
    return event


def _taken_back(view: View, span: Span, truth: Truth, step: Step) -> Step:
    """The step as a reorganisation from the span on: what was told must not stand beside the truth.

    :raises TooDeep: the span lies too deep for that.
    """
    live_to = view.readings.live_to
    if live_to is not None and live_to.number - span.first > view.max_reorg:
        raise TooDeep(
            f"blocks {span.first} to {span.last} were read by {span.source} with logs that the chain does "
            f"not have, and are more than {view.max_reorg} blocks deep (MAX_REORG_BLOCKS): retract their "
            "events, then resume reading of the chain"
        )
    replaced = f"0x{span.digest.hex()}" if span.digest else "unknown"
    retold = [_as_further_fact(event) for event in step.events]
    events: list[Event] = [
        reorged_event(view.terms.chain_id, span.first, replaced, truth.fetched.end),
        *retold,
    ]
    return replace(
        step,
        events=events,
        forget_from=span.first,
        live_to=truth.fetched.end.id,
        headers=truth.fetched.kept_headers(),
    )
