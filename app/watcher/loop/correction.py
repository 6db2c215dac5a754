"""Compares what was reported of some blocks with what they hold, and corrects the difference in one step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from app.feed.services.retract import retractions_of
from app.transfers.rules.events.event_types import ChainHead, Event, RefundCompleted, TransferConfirmed
from app.transfers.rules.events.keys import EventKey, subject_of_transfer
from app.transfers.rules.events.merging import agree
from app.transfers.rules.events.renumbered import as_reported_before, is_among
from app.values.identifiers import BlockNumber
from app.watcher.loop.poll import Outcome
from app.watcher.loop.view import View
from app.watcher.rules.blocks import Header, Log
from app.watcher.rules.logs.half_known import HalfKnown, half_known
from app.watcher.rules.logs.payouts import log_id, log_of, tx_of
from app.watcher.rules.logs.translation import Translation
from app.watcher.rules.steps import (
    Contradicted,
    Missed,
    ReportedEvent,
    Span,
    Step,
    Waiting,
    WaitingKey,
    WaitingKind,
)
from app.watcher.services.readings import Reported, confirmed_elsewhere


class Holding(Struct, frozen=True):
    """The content of blocks, as far as it can be found out.

    :param span: how well that is known, and by which URL.
    :param foreign: ids of logs in the blocks whose contracts are not watched (any more), or what the ids of
        their transactions begin with: what was reported of them stays valid.
    :param left: blocks of which nothing is known: what was reported of them stays as it is.
    :param suspended: what the ids of transactions begin with of which something is disputed. What another
        reporter reported of them, too, stays.
    :param decided: blocks of which it is known what they hold: what others reported of them is compared.
    :param outranks: what of it the blocks do not hold is retracted, and not only noted.
    """

    span: Span
    logs: Sequence[Log]
    headers: Mapping[BlockNumber, Header]
    foreign: AbstractSet[str] = frozenset()
    left: Collection[BlockNumber] = ()
    suspended: AbstractSet[str] = frozenset()
    decided: Collection[BlockNumber] = ()
    outranks: bool = False

    def covers(self, block: BlockNumber) -> bool:
        return self.span.first <= block <= self.span.last and block not in self.left


class _Kind(NamedTuple):
    """The events of one type that a transaction has about one transfer, at any indices."""

    tx: str
    subject: str
    type: str


class _Difference(Struct):
    """What the blocks say and was not reported, and the reverse.

    :param missing: ids of logs; ``surplus`` likewise.
    """

    events: list[Event]
    false: list[EventKey] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)
    surplus: set[str] = field(default_factory=set)


def corrected(view: View, holding: Holding, reported: Reported, read_by: str) -> Outcome:
    """The step that makes what was reported of the blocks equal to what they hold.

    What they do not hold is retracted, with a delayed payout that never existed and waiting facts. What they
    hold is reported, under a new id where a false fact had the id.

    :param read_by: the name of the URL that read them first.
    """
    waiting, chain_id, live_to = view.readings.waiting, view.terms.chain_id, view.readings.live_to
    first, last = holding.span.first, holding.span.last
    inside = [each for each in waiting if holding.covers(each.block)]
    outside = [each for each in waiting if not holding.covers(each.block)]
    # Logs of these transactions waited: they were not missing.
    waited = {tx_of(each.facts["id"]) for each in inside if each.kind is WaitingKind.EXECUTED}
    waited |= {tx_of(each.key) for each in inside if each.kind is WaitingKind.UNKNOWN}
    read_to = last if live_to is None else live_to.number
    translation = view.translated(holding.logs, holding.headers, outside, read_to)
    paid = _paid_by_another_queue(inside, waiting, translation)
    unreadable = {tx_of(log_id(chain_id, each.log)): each.log.block for each in translation.unreadable}
    half = half_known([*outside, *translation.waiting], unreadable)
    others = _of_others(holding, translation, reported)
    contradicted = list(_contradicted(holding, translation, others, half))
    taken = [each.event for each in others if holding.outranks or not each.canonical]
    unclear: set[str | _Kind] = {
        *(tx for tx, block in half.txs.items() if holding.covers(block)),
        *_too_early(translation),
    }
    found = _difference(holding, translation, reported, paid, unclear, taken)
    found.missing = {log for log in found.missing if tx_of(log) not in waited}
    reason = f"not in blocks {first} to {last} of chain {chain_id} ({read_by})"
    missing, surplus, source = len(found.missing), len(found.surplus), holding.span.source
    missed = Missed(first, last, missing, surplus, read_by, source)
    step = Step(
        at=view.clock(),
        events=[
            *retractions_of(found.false, reason, view.clock()),
            *_outranked(view, holding, contradicted, reported, found.false),
            *found.events,
        ],
        contradicted=contradicted,
        compared=sorted(holding.decided),
        spans=(holding.span,),
        waiting=translation.waiting,
        done=[*translation.done, *_gone(inside, translation, paid)],
        missed=(missed,) if missing or surplus else (),
        missed_if_new=True,
        source=source,
        calls=view.calls(),
    )
    return Outcome(step, translation.unreadable)


def _gone(inside: Sequence[Waiting], translation: Translation, paid: Iterable[str]) -> Iterator[WaitingKey]:
    """What waits no longer, as the blocks do not hold it."""
    waits = {(each.kind, each.key) for each in translation.waiting}
    yield from (WaitingKey(each.kind, each.key) for each in inside if (each.kind, each.key) not in waits)
    yield from (WaitingKey(WaitingKind.REFUND_DEPTH, event_id) for event_id in paid)


def _paid_by_another_queue(
    inside: Sequence[Waiting], waiting: Sequence[Waiting], translation: Translation
) -> Mapping[str, BlockNumber]:
    """Ids and blocks of executions that were reported as paid from a queue that the blocks do not hold so."""
    executed = {each.key: each for each in waiting if each.kind is WaitingKind.EXECUTED}
    now = {each.key: each.facts for each in translation.waiting if each.kind is WaitingKind.QUEUED}
    return {
        executed[each.key].facts["id"]: executed[each.key].block
        for each in inside
        if each.kind is WaitingKind.QUEUED and each.key in executed and now.get(each.key) != each.facts
    }


def _difference(
    holding: Holding,
    translation: Translation,
    reported: Reported,
    paid: Mapping[str, BlockNumber],
    unclear: AbstractSet[str | _Kind],
    taken: Sequence[Event],
) -> _Difference:
    """``taken``: what others reported under ids that cannot be used again."""
    first, last = holding.span.first, holding.span.last
    said = [each for each in reported(first, last) if holding.covers(each.block)]
    said = [each for each in said if not isinstance(each.event, ChainHead)]
    for block in {block for block in paid.values() if not holding.covers(block)}:
        said += [each for each in reported(block, block) if log_of(each.event.id) in paid]
    known = {event.key: event for event in (*taken, *(each.event for each in said))}
    valid = {each.event.key for each in said if each.canonical}
    shared = {each.event.key for each in said if each.also and tx_of(each.event.id) in holding.suspended}
    again = as_reported_before(translation.events, [each.event for each in said])
    found = _Difference([_with_free_id(event, known) for event in again])
    true = {event.key for event in found.events}
    found.false = sorted(
        key
        for key in valid - true - shared
        if unclear.isdisjoint((tx_of(key.id), _Kind(tx_of(key.id), key.subject, known[key].type)))
        and holding.foreign.isdisjoint((tx_of(key.id), log_of(key.id)))
    )
    found.events += confirmed_elsewhere(reported, [known[key] for key in found.false])
    found.surplus = {log_of(key.id) for key in found.false if tx_of(key.id) not in holding.suspended}
    right = {log_of(key.id) for key in valid.difference(found.false)}
    inside = (event for event in found.events if first <= getattr(event, "block", -1) <= last)
    found.missing = {log_of(event.id) for event in inside if event.key not in valid}
    found.missing -= right - found.surplus
    return found


def _of_others(holding: Holding, translation: Translation, reported: Reported) -> Sequence[ReportedEvent]:
    """What others reported of decided blocks, or of other blocks under the ids of what these hold."""
    if not holding.decided:
        return ()
    first, last = holding.span.first, holding.span.last
    of_blocks = [each for each in reported(first, last, of_others=True) if each.block in holding.decided]
    keys = {event.key for event in translation.events if getattr(event, "block", None) in holding.decided}
    under = reported(first, last, of_others=True, under=keys) if keys else ()
    return [*of_blocks, *(each for each in under if each.block not in holding.decided)]


def _contradicted(
    holding: Holding, translation: Translation, others: Sequence[ReportedEvent], unsure: HalfKnown
) -> Iterator[Contradicted]:
    """Nothing is said of a report of what is ``unsure``, unless it was contradicted before."""
    held = {event.key: getattr(event, "block", None) for event in translation.events}
    for each in others:
        event, block = each.event, held.get(each.event.key) or each.block
        if each.canonical and not is_among(event, translation.events):
            is_sure = not unsure.holds(event, block)
            if holding.outranks or is_sure:
                yield Contradicted(event, block, each.reporter, outranked=holding.outranks and is_sure)


def _outranked(
    view: View,
    holding: Holding,
    contradicted: Sequence[Contradicted],
    reported: Reported,
    false: Collection[EventKey],
) -> Iterator[Event]:
    """The retraction of outranked reports. It names all that was reported under an id, so what the watcher
    reported by it follows once more.
    """
    keys = [each.event.key for each in contradicted if each.outranked]
    if not keys:
        return
    first, last = holding.span.first, holding.span.last
    reason = f"not in block {first} of chain {view.terms.chain_id}, which is proven"
    yield from retractions_of(keys, reason, view.clock())
    own = reported(first, last, under=keys)
    yield from (each.event for each in own if each.canonical and each.event.key not in false)


def _too_early(translation: Translation) -> Iterator[_Kind]:
    """Events that only wait for more blocks: they stay as reported, as does what is half known."""
    for each in translation.waiting:
        if each.kind in (WaitingKind.SEND_DEPTH, WaitingKind.REFUND_DEPTH):
            deep = TransferConfirmed if each.kind is WaitingKind.SEND_DEPTH else RefundCompleted
            subject = subject_of_transfer(bytes.fromhex(each.facts["transfer_id"]))
            yield _Kind(tx_of(each.facts["id"]), subject, deep.type)


def _with_free_id(event: Event, known: Mapping[EventKey, Event]) -> Event:
    """The event under an id that nothing else was reported by (docs/ingest.md#ids: a further fact)."""
    while (other := known.get(event.key)) is not None and not agree(other, event):
        event = replace(event, id=f"{event.id}:{event.type}")
    return event
