"""Reads final blocks a second time, and decides which reading is true where two differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from app.values.identifiers import BlockNumber
from app.watcher.blocks import Header, Log, are_of, digest
from app.watcher.logs.payouts import log_id, log_of
from app.watcher.logs.translation import head_event
from app.watcher.loop.correction import Holding, corrected
from app.watcher.loop.fetch import Fetched, fetch_all, read_from, read_logs, span_of
from app.watcher.loop.poll import Outcome
from app.watcher.loop.proof import Unmatched, holds
from app.watcher.loop.view import Blocks, View, span_to_read_again, spans_to_reread
from app.watcher.rpc.faults import Incomplete, Lie, Moved, RpcFault
from app.watcher.rpc.node import Node
from app.watcher.services.readings import Reported
from app.watcher.steps import Missed, Span, SpanState, Step


class Truth(Struct, frozen=True):
    """What a range holds, as far as it can be found out.

    :param state: proven where two URLs agree now, or where receipts decided between them.
    """

    fetched: Fetched
    state: SpanState


def settle(view: View, span: Span, again: Sequence[Log], by: str) -> Truth:
    """Read a span whose second reading differed from every URL, and find out what is true.

    Where they do not agree now, the receipts of the blocks decide. Where a node returns no receipts, the
    reading with more logs counts, if the header of each log's block vouches for it.

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
        truth, proven = _decided(view, readings)
        state = SpanState.PROVEN if proven else SpanState.REREAD
        _blame(view, readings, truth, proven=proven)
    elif len({node.voice for node, _ in readings}) > 1:
        state = SpanState.PROVEN
    elif digest(truth.logs) != digest(again) and not are_of(span.digest, truth.logs):
        raise Moved(f"{by} returns different logs of blocks {blocks.first} to {blocks.last} each time")
    return Truth(truth, state)


def _everybodys(view: View, blocks: Blocks) -> list[tuple[Node, Fetched]]:
    found: list[tuple[Node, Fetched]] = []
    for node in view.nodes.usable():
        try:
            found.append((node, fetch_all(view, node, blocks)))
        except Moved:
            continue
        except RpcFault as fault:
            view.nodes.failed(node, fault)
    return found


def _decided(view: View, readings: Sequence[tuple[Node, Fetched]]) -> tuple[Fetched, bool]:
    """The true logs, block by block, and whether receipts prove each choice."""
    headers: dict[BlockNumber, Header] = {}
    for _, fetched in readings:
        headers.update(fetched.headers)
    answers = [_by_block(fetched.logs) for _, fetched in readings]
    chosen: list[Log] = []
    proven = True
    for block in sorted({block for answer in answers for block in answer}):
        candidates = [answer.get(block, []) for answer in answers]
        if len(set(map(digest, candidates))) == 1:
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
        except (RpcFault, Unmatched):
            continue
    return False


def _blame(view: View, readings: Sequence[tuple[Node, Fetched]], truth: Fetched, *, proven: bool) -> None:
    """Exclude the URLs that did not return the truth: for long where it is proven."""
    for node, fetched in readings:
        if digest(fetched.logs) != digest(truth.logs):
            words = (
                f"it returned {len(fetched.logs)} logs of blocks {truth.blocks.first} to "
                f"{truth.blocks.last}, which have {len(truth.logs)}"
            )
            view.nodes.failed(node, Lie(words) if proven else Incomplete(words))


def unknown(view: View) -> Span | None:
    """The next blocks to be read again, as their logs are not known (any more)."""
    return span_to_read_again(view.readings.spans, view.final, view.readings.headers)


def _read_again(view: View, span: Span, reported: Reported) -> Outcome:
    """The step that reports again what a span holds whose logs are not known. It counts as read once then.

    It may have been read for contracts that are not watched any more: what was reported of them stays.
    """
    blocks = Blocks(span.first, span.last)
    fetched, _ = read_from(view, lambda node: fetch_all(view, node, blocks))
    foreign = {log_of(each.event.id) for each in reported(span.first, span.last)}
    foreign -= {log_id(view.terms.chain_id, log) for log in fetched.logs}
    holding = Holding(fetched.span(), fetched.logs, fetched.headers, foreign)
    answer = corrected(view, holding, reported, span.source)
    if (step := answer.step) is None:
        return answer
    live_to = view.readings.live_to
    is_newest = live_to is not None and live_to.number == span.last
    head = [head_event(view.terms.chain_id, fetched.end)] if is_newest else []
    return replace(answer, step=replace(step, events=[*step.events, *head], missed=(), missed_if_new=False))


def due(view: View) -> Sequence[Span]:
    """The spans that are to be read again next, all of one source; empty where nothing is due."""
    live_to = view.readings.live_to
    if view.final is None or live_to is None:
        return ()
    return spans_to_reread(view.readings.spans, min(view.final, live_to.number), view.nodes.most_blocks())


def reread(view: View, reported: Reported) -> Outcome | None:
    """Read the next final spans again, from another URL where one answers; None where none is due.

    What is not known is read first, as if for the first time: the log may lack what it holds.

    :param reported: what was reported of blocks.
    :raises NoNode: no URL can be used now.
    :raises Moved: the answers do not fit to what was read; it is tried again later.
    """
    if (span := unknown(view)) is not None:
        return _read_again(view, span, reported)
    spans = due(view)
    if not spans:
        return None
    blocks = Blocks(spans[0].first, spans[-1].last)
    source = spans[0].source
    (logs, names), _ = read_from(
        view, lambda node: (read_logs(view, node, blocks), node.name), rather_not=source
    )
    agreed = [span for span in spans if are_of(span.digest, _logs_of(logs, span))]
    if agreed:
        other = view.nodes.voice(names) != view.nodes.voice(source)
        state = SpanState.PROVEN if other else SpanState.REREAD
        return Outcome(_step(view, [replace(span, state=state) for span in agreed]))
    return _differs(view, spans[0], _logs_of(logs, spans[0]), names, reported)


def _logs_of(logs: Sequence[Log], span: Span) -> Sequence[Log]:
    return [log for log in logs if span.first <= log.block <= span.last]


def _step(view: View, spans: Sequence[Span]) -> Step:
    return Step(at=view.clock(), spans=spans, source=view.source, calls=view.calls())


def _differs(view: View, span: Span, again: Sequence[Log], by: str, reported: Reported) -> Outcome:
    """The step for a span whose second reading differs from the first."""
    truth = settle(view, span, again, by)
    fetched = truth.fetched
    new = replace(span_of(fetched.blocks, fetched.logs, fetched.source), state=truth.state)
    if are_of(span.digest, fetched.logs):  # the second reading was the faulty one
        return Outcome(_step(view, [replace(span, state=truth.state)]))
    answer = corrected(view, Holding(new, fetched.logs, fetched.headers), reported, span.source)
    missed = (_missed(span, new, by),)
    return replace(answer, step=answer.step and replace(answer.step, missed=missed, missed_if_new=False))


def _missed(span: Span, new: Span, by: str) -> Missed:
    """What the first reading lacked or had too much, as numbers: the logs are not stored."""
    missing, surplus = max(0, new.count - span.count), max(0, span.count - new.count)
    if missing == surplus:  # as many, but other logs
        missing = surplus = 1
    return Missed(span.first, span.last, missing, surplus, span.source, by)
