"""Reads final blocks again: first for their logs, then with their headers, until they are agreed or proven.

A range is compared with another voice soon after it was read, in a request or two. Afterwards the headers of
all its blocks are read, a hundred a request, which show what both may lack. Blocks of which something is not
agreed or proven then are in doubt, and every URL is requested again until they are not.

What others report of proven blocks is compared with what these hold: a block that more than a sole URL proves
outranks every report of a log of the watched contracts in it (docs/chains.md#reports).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from app.transfers.rules.events.event_types import EventsRetracted
from app.values.identifiers import BlockNumber
from app.watcher.loop.cases import NOTHING_SAID, Case, Said
from app.watcher.loop.correction import Holding, corrected
from app.watcher.loop.fetch import check_times, fetch_all, read_from, read_logs, span_of
from app.watcher.loop.findings import (
    Settled,
    case_of,
    is_open,
    name_urls,
    next_doubt,
    said_of,
    settled,
    weighed_first,
)
from app.watcher.loop.poll import Outcome
from app.watcher.loop.view import OURS, Blocks, View, span_to_read_again, spans_to_reread
from app.watcher.rpc.faults import Conflicting, Moved, RpcFault
from app.watcher.rpc.node import MOST_CALLS, Node
from app.watcher.rpc.nodes import Trouble
from app.watcher.rpc.receipts import listed, receipts_of_block
from app.watcher.rules.blocks import Header, ImpossibleAnswer, Log, are_of, check_blocks, check_parents
from app.watcher.rules.evidence import Level
from app.watcher.rules.logs.payouts import log_id, log_of
from app.watcher.rules.logs.translation import head_event
from app.watcher.rules.steps import Doubt, Missed, Span, SpanState, Step
from app.watcher.services.contradicting_reports import Arrived
from app.watcher.services.readings import Reported

BLOCKS_AT_ONCE: Final = MOST_CALLS - 2
"""Their headers, that of the block below them, and their logs are one request."""


class Unverifiable(Exception):
    """The URLs do not return what is needed. The text is for operators.

    :param lasts: it will hardly be otherwise in a minute.
    :param found: what follows from the logs that were read all the same.
    """

    def __init__(self, words: str, *, lasts: bool = False, found: Outcome | None = None) -> None:
        super().__init__(words)
        self.lasts = lasts
        self.found = found


class _Reading(Struct, frozen=True):
    """The logs of a range as one voice returned them; None where it returned none of so old blocks."""

    node: Node
    logs: Mapping[BlockNumber, Sequence[Log]] | None
    headers: Mapping[BlockNumber, Header]


def unknown(view: View) -> Span | None:
    """The next blocks to be read again, as their logs are not known (any more)."""
    return span_to_read_again(view.readings.spans, view.final, view.readings.headers)


def due(view: View) -> Sequence[Span]:
    """The spans that are to be compared next, all of one source."""
    live_to = view.readings.live_to
    if view.final is None or live_to is None:
        return ()
    return spans_to_reread(view.readings.spans, min(view.final, live_to.number), view.nodes.most_blocks())


def compare(view: View, reported: Reported) -> Outcome | None:
    """Compare the next final spans with what another URL returns; None where none is due.

    What is not known is read first, as if for the first time: the log may lack what it holds.

    :raises NoNode: no URL can be used now.
    :raises Moved: the answers do not fit to what was read; it is tried again later.
    """
    if (span := unknown(view)) is not None:
        return _read_again(view, span, reported)
    spans = due(view)
    if not spans:
        return None
    blocks = Blocks(spans[0].first, spans[-1].last)
    logs, node = read_from(view, lambda node: _read(view, node, blocks), rather_not=spans[0].source)
    same = [span for span in spans if are_of(span.digest, _within(logs, span))]
    if not same:
        return _differs(view, spans[0], node, _within(logs, spans[0]), reported)
    is_another = node.voice != view.nodes.voice(spans[0].source)
    doubts = [
        doubt
        for doubt in view.readings.doubts.values()
        if any(span.first <= doubt.block <= span.last for span in same)
        if not is_another or len(doubt.words) > 1  # else both say the same now
    ]
    step = Step(
        at=view.clock(),
        spans=[replace(span, state=SpanState.REREAD, weighed=is_another) for span in same],
        doubts=doubts,
        source=view.source,
        calls=view.calls(),
    )
    return Outcome(step)


def _read(view: View, node: Node, blocks: Blocks) -> list[Log]:
    """The logs of a range by a node that names the branch that is read.

    :raises Conflicting: it names another one.
    """
    if (vote := view.votes.get(node.voice)) is not None and vote.hash != OURS:
        raise Conflicting("it does not name the branch that is read")
    return list(read_logs(view, node, blocks)[0])


def _within(logs: Iterable[Log], span: Span | Blocks) -> list[Log]:
    return [log for log in logs if span.first <= log.block <= span.last]


def _read_again(view: View, span: Span, reported: Reported) -> Outcome:
    """The step that reports again what a span holds whose logs are not known. It counts as read once then.

    It may have been read for contracts that are not watched any more: what was reported of them stays. So
    does what was reported of disputed blocks.
    """
    blocks = Blocks(span.first, span.last)
    fetched, _ = read_from(view, lambda node: fetch_all(view, node, blocks))
    returned = fetched.logs
    fetched, new = weighed_first(view, fetched, said_of(view, reported, blocks))
    foreign = {log_of(each.event.id) for each in reported(span.first, span.last)}
    foreign -= {log_id(view.terms.chain_id, log) for log in returned}
    stored = {block: each for block, each in view.readings.doubts.items() if span.first <= block <= span.last}
    doubts = stored | {doubt.block: doubt for doubt in new}
    left = {block for block, doubt in doubts.items() if doubt.disputed}
    logs = [log for log in fetched.logs if log.block not in left]
    answer = corrected(
        view, Holding(fetched.span(), logs, fetched.headers, foreign, left), reported, span.source
    )
    if (step := answer.step) is None:
        return answer
    live_to = view.readings.live_to
    is_newest = live_to is not None and live_to.number == span.last
    head = [head_event(view.terms.chain_id, fetched.end)] if is_newest else []
    step = replace(
        step, events=[*step.events, *head], missed=(), missed_if_new=False, doubts=list(doubts.values())
    )
    return replace(answer, step=step)


def _differs(view: View, span: Span, node: Node, logs: Sequence[Log], reported: Reported) -> Outcome:
    """The step for a span whose logs another reading returned differently."""
    blocks = Blocks(span.first, span.last)
    read = {node: logs}
    for other in view.nodes.usable():
        if all(other.voice != each.voice for each in read):
            with suppress(RpcFault):
                read[other] = _read(view, other, blocks)
    said = said_of(view, reported, blocks)
    logs = [log for of_voice in read.values() for log in of_voice]
    numbers = sorted(said.keys() | {log.block for log in logs})
    headers, named_by = read_from(view, lambda by: by.headers(numbers, verified=True) if numbers else {})
    _check(headers, logs)
    readings = [_Reading(each, _by_block(of_voice), {}) for each, of_voice in read.items()]
    found = []
    for case, before in _cases(view, span, [_Reading(named_by, None, headers), *readings], said):
        each = settled(case, case.settle(is_live=True), before, is_live=True)
        found.append(each if len(view.nodes.voices) > 1 else replace(each, doubt=None))
    counting = [log for each in found for log in each.logs]
    new = replace(span_of(blocks, counting, node.name), state=SpanState.REREAD)
    outcome = _outcome(view, Holding(new, (), headers), found, reported, span.source)
    if not span.digest or outcome.step is None:
        return outcome
    is_same = are_of(span.digest, counting) or not outcome.step.events
    missed = () if is_same else (_missed(span, new, node.name),)
    return replace(outcome, step=replace(outcome.step, missed=missed, missed_if_new=False))


def _missed(span: Span, new: Span, by: str) -> Missed:
    """What the first reading lacked or had too much, as numbers: the logs are not stored."""
    missing, surplus = max(0, new.count - span.count), max(0, span.count - new.count)
    if missing == surplus:  # as many, but other logs
        missing = surplus = 1
    return Missed(span.first, span.last, missing, surplus, span.source, by)


def span_to_verify(view: View) -> Span | None:
    """The first final blocks that were compared, cut to what is read at once; else the newest that a release
    before the rule of evidence proved.
    """
    for span in view.readings.spans:
        if span.state is SpanState.REREAD:
            return replace(span, last=BlockNumber(min(span.last, span.first + BLOCKS_AT_ONCE - 1)))
    below = view.earlier_below
    for span in reversed(view.readings.earlier):
        last = BlockNumber(span.last if below is None else min(span.last, below - 1))
        if last >= span.first:
            return replace(span, first=BlockNumber(max(span.first, last - BLOCKS_AT_ONCE + 1)), last=last)
    return None


def verify(view: View, span: Span, reported: Reported, *, compares: bool = False) -> Outcome:
    """Read some blocks with their headers, find out what they hold, and correct what was reported of them.

    :param compares: request all receipts, and retract also what others reported that proven blocks do not
        hold, unless there is only one voice.
    :raises NoNode: no URL can be used now.
    :raises Unverifiable: no URL of another provider answers, or the only one proves nothing.
    :raises Moved: the answers do not fit together; it is tried again later.
    """
    blocks = Blocks(span.first, span.last)
    readings = _two_readings(view, blocks, span.source)
    if view.roots and not any(header.verified for each in readings for header in each.headers.values()):
        words = "headers do not give their hashes any more: a hard fork may have added a field"
        view.nodes.note(Trouble(readings[0].node.name, f"blocks {span.first} to {span.last}: {words}"))
    headers, found = dict(readings[0].headers), []
    cases = _cases(view, span, readings, said_of(view, reported, blocks))
    if compares or not view.roots:
        _request_receipts(view, [case for case, _ in cases], readings, all_of=compares)
    for case, before in cases:
        finding = case.weighed()
        finding = case.settle(is_live=False) if is_open(finding, is_live=False) else finding
        headers[case.id.number] = case.header or headers[case.id.number]
        found.append(settled(case, finding, before, is_live=False))
    logs = [log for each in found for log in each.logs]
    new = replace(span_of(blocks, logs, readings[0].node.name), state=SpanState.PROVEN, weighed=True)
    if (why := _unproven(view, found)) is not None:
        same = [replace(each, doubt=each.before) for each in found]
        new = replace(new, state=span.state, weighed=span.weighed)
        outcome = _outcome(view, Holding(new, (), headers), same, reported, span.source)
        raise Unverifiable(why, lasts=True, found=outcome)
    decided = {each.case.id.number for each in found if _is_decided(each, compares=compares)}
    holding = Holding(new, (), headers, decided=decided, outranks=compares and len(view.nodes.voices) > 1)
    outcome = _outcome(view, holding, found, reported, span.source)
    foreign = [each.case.id.number for each in found if compares and each.case.foreign]
    step = outcome.step and replace(outcome.step, compared=[*outcome.step.compared, *foreign])
    return replace(outcome, step=step)


def _cases(
    view: View, span: Span, readings: Sequence[_Reading], said: Mapping[BlockNumber, Said]
) -> list[tuple[Case, Doubt | None]]:
    """The blocks of the first reading with what all of them say, and what was stored of each."""
    cases = []
    is_known = span.weighed or span.state is SpanState.PROVEN or len(readings) == 1
    for number, header in sorted(readings[0].headers.items()):
        if number < span.first:
            continue
        case, before = _case(view, header, said.get(number, NOTHING_SAID))
        for reading in readings:
            if number in reading.headers:
                case.take_header(reading.node.voice, reading.headers[number])
            if reading.logs is not None:
                case.hear(reading.node.voice, reading.logs.get(number, ()))
        case.note_reported(view.nodes.voice(span.source), is_known=is_known)
        cases.append((case, before))
    return cases


def _is_decided(each: Settled, *, compares: bool) -> bool:
    """Whether it is known which logs of watched contracts a block has.

    :param compares: it is to outrank reports: then it is proven, with receipts. It has no logs like ours of
        other contracts, as a report may be about one of these.
    """
    case, finding = each.case, each.finding
    if each.doubt is not None or case.foreign:
        return False
    if not compares:
        return True
    has_receipts = any(word.receipts is not None and word.receipts.match for word in case.words.values())
    has_txs = case.header is not None and case.header.transactions
    is_proven = all(finding.logs[entry] is Level.PROVEN for entry in finding.true)
    return finding.rest is Level.PROVEN and is_proven and (has_receipts or not has_txs)


def _two_readings(view: View, blocks: Blocks, source: str) -> list[_Reading]:
    """What two voices return of a range, one of them with every header; of a sole voice its own.

    :raises Unverifiable: there are more voices, and no second one has the last block.
    """
    first, node = read_from(view, lambda node: _with_headers(view, node, blocks), rather_not=source)
    if len(view.nodes.voices) == 1:
        return [first]
    whole = not all(header.verified for header in first.headers.values())
    readings = [first]
    others = [other for other in view.nodes.answering() if other.voice != node.voice]
    for other in others:
        second = _second(view, other, blocks, whole=whole or len(readings) > 1)
        if second is None:
            continue
        for reading in readings:
            if _is_of_one_branch(reading, second):
                return [reading, replace(second, headers={**reading.headers, **second.headers})]
        if len(second.headers) >= len(first.headers):
            readings.append(second)
    names = " and ".join(other.name for other in others)
    words = f"{names or 'no URL of another provider'} does not confirm blocks {blocks.first} to {blocks.last}"
    raise Unverifiable(words)


def _is_of_one_branch(first: _Reading, second: _Reading) -> bool:
    """Whether two readings name the same blocks. A header that does not give its hash leads to no other
    block, so each block that such ones lead to has to be named by both.
    """
    for number in sorted(first.headers, reverse=True):
        own, other = first.headers[number], second.headers.get(number)
        if other is not None and other.hash != own.hash:
            return False
        above = first.headers.get(BlockNumber(number + 1))
        if other is None and (above is None or not above.verified or above.parent_hash != own.hash):
            return False
    return True


def _second(view: View, node: Node, blocks: Blocks, *, whole: bool) -> _Reading | None:
    """What a second voice returns: its logs, and the header of the last block, or ``whole`` all of them.

    One that has no logs so old may still confirm the header. None where it does not.
    """
    try:
        return _with_headers(view, node, blocks) if whole else _logs_only(view, node, blocks)
    except RpcFault as fault:
        with suppress(RpcFault):
            if (end := node.header(blocks.last)) is not None:
                return _Reading(node, None, {blocks.last: end})
        view.nodes.failed(node, fault)
        return None


def _logs_only(view: View, node: Node, blocks: Blocks) -> _Reading:
    logs, end = read_logs(view, node, blocks)
    return _Reading(node, _by_block(logs), {blocks.last: end})


def _with_headers(view: View, node: Node, blocks: Blocks) -> _Reading:
    before = [BlockNumber(blocks.first - 1)] if blocks.first > 0 else []
    logs = _read(view, node, blocks)
    headers = node.headers(
        [*before, *(BlockNumber(number) for number in range(blocks.first, blocks.last + 1))], verified=True
    )
    check_times(view, headers.values())
    _check(headers, logs)
    return _Reading(node, _by_block(logs), headers)


def _check(headers: Mapping[BlockNumber, Header], logs: Iterable[Log]) -> None:
    try:
        check_parents(headers.values())
        check_blocks(logs, headers)
    except ImpossibleAnswer as error:
        raise Moved(str(error)) from None


def _request_receipts(
    view: View, cases: Sequence[Case], readings: Sequence[_Reading], *, all_of: bool
) -> None:
    """Request the receipts of blocks: of all, or of a few until some match, as none was seen to match yet."""
    able = [case for case in cases if case.header is not None and case.header.transactions]
    few = (*able[:1], *able[len(able) // 2 :][:1], *able[-1:])
    for case in able if all_of else {case.id: case for case in few}.values():
        for reading in readings:
            with suppress(RpcFault):
                block = listed(reading.node, case.id.number)
                if block is not None and block.header.hash == case.id.hash:
                    case.take_receipts(reading.node.voice, receipts_of_block(reading.node, block))
            if view.roots and not all_of:
                return


def _unproven(view: View, found: Sequence[Settled]) -> str | None:
    """Why a sole voice proves nothing: its blocks would all be in doubt, without use. None where it does."""
    open_ = [each for each in found if each.doubt is not None]
    empty = [each for each in open_ if not each.finding.standing]
    if len(view.nodes.voices) > 1 or not open_ or (view.roots and 2 * len(empty) <= len(found)):
        return None
    verified = any(header.verified for each in found for header in each.case.headers.values())
    return "no receipts match their headers" if verified else "headers do not give their hashes"


def examine(view: View, reported: Reported) -> Outcome | None:
    """Request every URL about the block in doubt that is due first; None where none is due."""
    before = next_doubt(view)
    if before is None:
        return None
    view.requested_at[before.block] = view.monotonic()
    block = Blocks(before.block, before.block)
    said = said_of(view, reported, block).get(before.block, NOTHING_SAID)
    case = case_of(view, before)
    case.said = said
    is_live = any(span.first <= before.block <= span.last for span in view.readings.spans)
    stored = next((header for header in view.readings.headers if header.id == case.id), None)
    finding = case.settle(is_live=is_live and stored is not None)
    each = settled(case, finding, before, is_live=is_live)
    header = stored or case.header
    if header is None:  # no URL has the block now
        return Outcome(Step(at=view.clock(), doubts=[each.doubt] if each.doubt else (), calls=view.calls()))
    span = Span(before.block, before.block, 0, b"", view.source)
    decided = [before.block] if _is_decided(each, compares=False) else []
    holding = Holding(span, (), {before.block: header}, decided=decided)
    outcome = _outcome(view, holding, [each], reported, span.source)
    step = outcome.step
    missed = step.missed if step is not None and each.finding.faulty else ()
    resolved = () if each.doubt else (before.block,)
    return replace(outcome, step=step and replace(step, spans=(), resolved=resolved, missed=missed))


def _case(view: View, header: Header, said: Said) -> tuple[Case, Doubt | None]:
    doubt = view.readings.doubts.get(header.number)
    if doubt is None or doubt.hash not in ("", header.hash):
        case = Case(view, header.id, said=said)
        doubt = None
    else:
        case = case_of(view, doubt)
        case.id, case.said = header.id, said
    return case, doubt


def _outcome(
    view: View, holding: Holding, found: Sequence[Settled], reported: Reported, read_by: str
) -> Outcome:
    """The step that follows from what is known of blocks.

    What is reported of a transaction, and what none of its logs says, is taken back only where its receipts
    were requested.

    :param holding: without their logs.
    """
    whole = _corrected(view, holding, found, reported, read_by, left=lambda each: each.case.foreign)
    taken = _taken_back(whole)
    now = [_with_receipts(each, taken) for each in found]
    answer = (
        _corrected(view, holding, now, reported, read_by, left=lambda each: each.left) if taken else whole
    )
    for each in now:
        name_urls(view, each)
    doubts = [each.doubt for each in now if each.doubt is not None]
    step = answer.step and replace(answer.step, doubts=doubts, matched_to=view.matched_to, extra=view.extra)
    return replace(answer, step=step)


def _corrected(
    view: View,
    holding: Holding,
    found: Sequence[Settled],
    reported: Reported,
    read_by: str,
    *,
    left: Callable[[Settled], Collection[str]],
) -> Outcome:
    chain_id = view.terms.chain_id

    def ids(each: Settled, txs: Collection[str]) -> set[str]:
        return {f"{chain_id}:{each.case.id.hash}:{tx}" for tx in txs}

    foreign = set[str]().union(*(ids(each, left(each)) for each in found))
    suspended = set[str]().union(*(ids(each, each.suspended) for each in found))
    logs = [log for each in found for log in each.logs]
    return corrected(
        view, replace(holding, logs=logs, foreign=foreign, suspended=suspended), reported, read_by
    )


def _taken_back(outcome: Outcome) -> set[tuple[str, str]]:
    """The hashes of the blocks and transactions of which a step takes something back."""
    events = () if outcome.step is None else outcome.step.events
    retracted = (event.targets for event in events if isinstance(event, EventsRetracted))
    parts = (target.split(":") for targets in retracted for target in targets)
    return {(part[1], part[2]) for part in parts if len(part) > 3}


def _with_receipts(each: Settled, taken: Collection[tuple[str, str]]) -> Settled:
    """What follows for a block after the receipts were requested of transactions of which something would be
    taken back without a reason.
    """
    case = each.case
    suspects = {tx for block, tx in taken if block == case.id.hash} & each.left
    if not suspects:
        return each
    case.suspects |= suspects
    each = settled(case, case.settle(is_live=each.is_live), each.before, is_live=each.is_live)
    sure = [case.logs.get(entry) for entry, level in each.finding.logs.items() if level >= Level.AGREED]
    undecided = suspects & each.left  # what was reported first counts
    return replace(each, logs=[log for log in each.logs if log.tx_hash not in undecided or log in sure])


def _by_block(logs: Iterable[Log]) -> Mapping[BlockNumber, list[Log]]:
    found: dict[BlockNumber, list[Log]] = defaultdict(list)
    for log in logs:
        found[log.block].append(log)
    return found


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


def compare_reported(view: View, block: BlockNumber, reported: Reported) -> Outcome:
    """Read a block again of which others reported what it does not hold, and decide it if that is proven.

    A sole URL decides only what is right: that the block holds it, or has logs like ours of other contracts.
    """
    span = Span(block, block, 0, b"", view.source, SpanState.PROVEN, weighed=True)
    undecided = Step(at=view.clock(), undecided=[block], source=view.source, calls=view.calls())
    try:
        outcome = verify(view, span, reported, compares=True)
    except (Unverifiable, RpcFault):
        return Outcome(undecided)
    step = outcome.step
    if step is None or (block in step.compared and all(each.outranked for each in step.contradicted)):
        return outcome
    outranked = [each for each in step.contradicted if each.outranked]
    return replace(outcome, step=replace(step, compared=(), contradicted=outranked, undecided=[block]))
