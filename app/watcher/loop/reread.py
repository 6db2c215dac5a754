"""What is final is read a second time: what was missing is found, and what is there is proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.domain.watching.blocks import Log
from app.domain.watching.steps import Missed, Span, SpanState, Step
from app.services.watching.reported import Reported
from app.watcher.checks.digests import digest
from app.watcher.loop.correction import Holding, corrected
from app.watcher.loop.disputes import settle
from app.watcher.loop.fetch import in_windows, read_logs, span_of
from app.watcher.loop.plan import Blocks, spans_to_reread
from app.watcher.loop.poll import Told
from app.watcher.loop.view import View
from app.watcher.translate import log_id, log_of


def due(view: View) -> Sequence[Span]:
    """The spans that are to be read again next, all of one source; none where nothing is due."""
    live_to = view.readings.live_to
    if view.final is None or live_to is None:
        return ()
    return spans_to_reread(view.readings.spans, min(view.final, live_to.number), view.window.size)


def reread(view: View, reported: Reported) -> Told | None:
    """Read the next final spans again, by another URL where one answers; None where none is due.

    :param reported: what was reported of blocks.
    :raises NoNode: no URL can be asked now.
    :raises Moved: the answers do not fit to what was read; it is tried again later.
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
    return _differs(view, spans[0], [log for log in logs if log.block <= spans[0].last], names, reported)


def _digest(logs: Sequence[Log], span: Span) -> bytes:
    return digest(log for log in logs if span.first <= log.block <= span.last)


def _kept(view: View, spans: Sequence[Span]) -> Step:
    return Step(at=view.clock(), spans=spans, source=view.source, calls=view.calls())


def _differs(view: View, span: Span, again: Sequence[Log], by: str, reported: Reported) -> Told:
    """The second reading of a span is not as the first, or the first is not known any more."""
    truth = settle(view, span, again, by)
    fetched = truth.fetched
    new = replace(span_of(fetched.blocks, fetched.logs, fetched.source), state=truth.state)
    if new.digest == span.digest:  # the second reading was the faulty one
        return Told(_kept(view, [replace(span, state=truth.state)]))
    foreign: set[str] = set()
    if not span.digest:
        new = replace(new, state=SpanState.READ)
        # It may have been read for contracts that nobody asks for any more.
        foreign = {log_of(each.event.id) for each in reported(span.first, span.last)}
        foreign -= {log_id(view.terms.chain_id, log) for log in fetched.logs}
    told = corrected(view, Holding(new, fetched.logs, fetched.headers, foreign), reported, span.source)
    missed = (_missed(span, new, by),) if span.digest else ()
    return replace(told, step=told.step and replace(told.step, missed=missed, missed_if_new=False))


def _missed(span: Span, new: Span, by: str) -> Missed:
    """What the first reading lacked, or had too much; by number, for the logs are not kept."""
    missing, surplus = max(0, new.count - span.count), max(0, span.count - new.count)
    if missing == surplus:  # as many, and others
        missing = surplus = 1
    return Missed(span.first, span.last, missing, surplus, span.source, by)
