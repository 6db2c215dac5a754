"""Compares what others report of proven blocks with what these hold (docs/chains.md#reports).

A block that more than a sole URL proves outranks every report of a log of the watched contracts in it.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from app.values.identifiers import BlockNumber
from app.watcher.loop.poll import Outcome
from app.watcher.loop.verify import Unverifiable, verify
from app.watcher.loop.view import View
from app.watcher.services.contradicted import Arrived
from app.watcher.services.readings import Reported
from app.watcher.steps import Span, SpanState, Step


def compare_arrived(view: View, arrived: Callable[[int | None], Arrived]) -> Outcome | None:
    """Note the reports of proven blocks that arrived, as far as nothing else says the same of its block.

    :param arrived: after a position of the log.
    """
    found = arrived(view.reports_to)
    view.reports_to = found.to
    if not found.contradicted:
        return None
    step = Step(at=view.clock(), contradicted=found.contradicted, source=view.source, calls=view.calls())
    return Outcome(replace(step, extra=view.extra))


def judge(view: View, block: BlockNumber, reported: Reported) -> Outcome:
    """Read a block again of which others reported what it does not hold, and decide it if that is proven.

    :raises NoNode: no URL can be used now.
    :raises Moved: the answers do not fit together; it is tried again later.
    """
    span = Span(block, block, 0, b"", view.source, SpanState.PROVEN, weighed=True)
    try:
        outcome = verify(view, span, reported, outranks=True)
    except Unverifiable:
        return Outcome(Step(at=view.clock(), undecided=[block], source=view.source, calls=view.calls()))
    if outcome.step is None or block in outcome.step.judged:
        return outcome
    return replace(outcome, step=replace(outcome.step, undecided=[block]))
