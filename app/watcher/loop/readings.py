"""What a step leaves of what was kept, as the database keeps it: so a reader need not load it again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.domain.keys import BlockNumber
from app.domain.watching.blocks import Header
from app.domain.watching.spans import replaced
from app.domain.watching.steps import ChainReadings, SpanState, Step, Waiting


def after(readings: ChainReadings, step: Step) -> ChainReadings:
    """All that is kept of a chain after a step was written, except how far it is reread and proven."""
    if step.forget_from is not None:
        readings = _stepped_back(readings, step.forget_from)
    changes = {
        name: given
        for name in ("live_from", "backfill_from", "backfilled_to", "live_to", "extra")
        if (given := getattr(step, name)) is not None
    }
    return replace(
        readings,
        headers=_headers(readings.headers, step),
        spans=[span for span in replaced(readings.spans, step.spans) if span.state is not SpanState.PROVEN],
        waiting=_waiting(readings.waiting, step),
        **changes,
    )


def _stepped_back(readings: ChainReadings, forget_from: BlockNumber) -> ChainReadings:
    below = BlockNumber(forget_from - 1)
    live_to, live_from, backfilled_to = readings.live_to, readings.live_from, readings.backfilled_to
    headers = [header for header in readings.headers if header.number < forget_from]
    if live_to is not None and live_to.number >= forget_from:
        live_to = next((header.id for header in headers if header.number == below), None)
    if live_from is not None and live_from > forget_from:
        live_from = forget_from
    if backfilled_to is not None and backfilled_to >= forget_from:
        backfilled_to = below
    return replace(
        readings,
        live_to=live_to,
        live_from=live_from,
        backfilled_to=backfilled_to,
        headers=headers,
        spans=replaced(readings.spans, (), forget_from=forget_from),
        waiting=[waiting for waiting in readings.waiting if waiting.block < forget_from],
    )


def _headers(kept: Iterable[Header], step: Step) -> list[Header]:
    found = {header.number: header for header in (*kept, *step.headers)}
    least = step.forget_headers_below or 0
    return [found[number] for number in sorted(found) if number >= least]


def _waiting(kept: Iterable[Waiting], step: Step) -> list[Waiting]:
    found = {(waiting.kind, waiting.key): waiting for waiting in kept}
    for done in step.done:
        found.pop((done.kind, done.key), None)
    found.update({(waiting.kind, waiting.key): waiting for waiting in step.waiting})
    return sorted(found.values(), key=lambda waiting: (waiting.block, waiting.kind, waiting.key))
