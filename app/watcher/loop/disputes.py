"""Two readings of one final range differ: which of them is true?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain.keys import BlockNumber
from app.domain.watching.blocks import Header, Log
from app.domain.watching.steps import Span, SpanState
from app.watcher.checks.digests import digest
from app.watcher.loop.fetch import Fetched, fetch_all
from app.watcher.loop.plan import Blocks
from app.watcher.loop.proof import holds
from app.watcher.loop.view import View
from app.watcher.rpc.faults import Lie, Moved, NotThere, RpcFault, TooLarge
from app.watcher.rpc.node import Node


@dataclass(frozen=True, slots=True)
class Truth:
    """What a range holds, as far as can be found out.

    :param state: proven where two URLs tell the same now, or receipts decided where they do not.
    """

    fetched: Fetched
    state: SpanState


def settle(view: View, span: Span, again: Sequence[Log], by: str) -> Truth:
    """Ask every URL about a span whose second reading differed, and find out what is true.

    Where they do not agree now, the receipts of the blocks decide; where a node tells no receipts, the
    reading with more logs, each of which its block's header vouches for.

    :param again: the second reading, of the URL named ``by``.
    :raises Moved: no answer fits together; it is tried again later.
    """
    blocks = Blocks(span.first, span.last)
    readings = _everybodys(view, blocks)
    if not readings:
        raise Moved(
            f"blocks {blocks.first} to {blocks.last} were read differently, and no URL returns them now"
        )
    _, truth = readings[0]
    state = SpanState.REREAD
    if len({digest(fetched.logs) for _, fetched in readings}) > 1:
        truth, proven = _judged(view, readings)
        state = SpanState.PROVEN if proven else SpanState.REREAD
        _blame(view, readings, truth, proven=proven)
    elif len(readings) > 1:
        state = SpanState.PROVEN
    elif digest(truth.logs) != digest(again) and digest(truth.logs) != span.digest:
        raise Moved(f"{by} returns different logs of blocks {blocks.first} to {blocks.last} each time")
    return Truth(truth, state)


def _everybodys(view: View, blocks: Blocks) -> list[tuple[Node, Fetched]]:
    found: list[tuple[Node, Fetched]] = []
    for node in view.nodes.usable():
        try:
            found.append((node, fetch_all(view, node, blocks)))
        except (Moved, TooLarge):
            continue
        except RpcFault as fault:
            view.nodes.failed(node, fault)
    return found


def _judged(view: View, readings: Sequence[tuple[Node, Fetched]]) -> tuple[Fetched, bool]:
    """The true logs, block by block, and whether receipts prove each choice."""
    headers: dict[BlockNumber, Header] = {}
    for _, fetched in readings:
        headers.update(fetched.headers)
    tellings = [_by_block(fetched.logs) for _, fetched in readings]
    chosen: list[Log] = []
    proven = True
    for block in sorted({block for told in tellings for block in told}):
        candidates = [told.get(block, []) for told in tellings]
        if all(candidate == candidates[0] for candidate in candidates):
            chosen += candidates[0]
            continue
        header = headers[block]
        true = next((each for each in candidates if _is_proven(view, readings, header, each)), None)
        proven = proven and true is not None
        longest: list[Log] = max(candidates, key=len)
        chosen += longest if true is None else true
    return replace(readings[0][1], logs=chosen, headers=headers), proven


def _by_block(logs: Sequence[Log]) -> Mapping[BlockNumber, list[Log]]:
    found: dict[BlockNumber, list[Log]] = {}
    for log in logs:
        found.setdefault(log.block, []).append(log)
    return found


def _is_proven(
    view: View, readings: Sequence[tuple[Node, Fetched]], header: Header, logs: Sequence[Log]
) -> bool:
    for node, _ in readings:
        try:
            return holds(node, header, logs, view.wanted)
        except RpcFault:
            continue
    return False


def _blame(view: View, readings: Sequence[tuple[Node, Fetched]], truth: Fetched, *, proven: bool) -> None:
    """Leave those alone that did not tell the truth: for long where it is proven."""
    for node, fetched in readings:
        if digest(fetched.logs) != digest(truth.logs):
            words = (
                f"it returned {len(fetched.logs)} logs of blocks {truth.blocks.first} to "
                f"{truth.blocks.last}, which have {len(truth.logs)}"
            )
            view.nodes.failed(node, Lie(words) if proven else NotThere(words))
