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
from app.watcher.rpc.faults import RpcFault
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

    A sole URL decides only what is right: that the block holds it, or has logs like ours of other contracts.
    """
    span = Span(block, block, 0, b"", view.source, SpanState.PROVEN, weighed=True)
    undecided = Step(at=view.clock(), undecided=[block], source=view.source, calls=view.calls())
    try:
        outcome = verify(view, span, reported, judges=True)
    except (Unverifiable, RpcFault):
        return Outcome(undecided)
    step = outcome.step
    if step is None or (block in step.judged and all(each.outranked for each in step.contradicted)):
        return outcome
    outranked = [each for each in step.contradicted if each.outranked]
    return replace(outcome, step=replace(step, judged=(), contradicted=outranked, undecided=[block]))
