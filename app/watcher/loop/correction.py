"""Compares what was reported of some blocks with what they hold, and corrects the difference in one step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from app.feed.services.retract import retractions_of
from app.transfers.contents import agree
from app.transfers.events import ChainHead, Event, RefundCompleted, TransferConfirmed
from app.transfers.numbering import as_reported_before, is_among
from app.transfers.subjects import EventKey, subject_of_transfer
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.blocks import Header, Log
from app.watcher.logs.payouts import log_id, log_of, tx_of
from app.watcher.logs.translation import Translation, translate
from app.watcher.loop.poll import Outcome
from app.watcher.loop.view import Blocks, View
from app.watcher.services.readings import Reported, confirmed_elsewhere
from app.watcher.steps import (
    Contradicted,
    Missed,
    ReportedEvent,
    Span,
    Step,
    Waiting,
    WaitingKey,
    WaitingKind,
)

_REPORTED_AT_ONCE: Final = (WaitingKind.SEND_DEPTH, WaitingKind.QUEUED)
"""What waits only after its log was reported."""


class Holding(Struct, frozen=True):
    """What blocks hold, as far as it can be found out.

    :param span: how well that is known, and by which URL.
    :param foreign: ids of logs in the blocks whose contracts are not watched (any more), or what the ids of
        their transactions begin with: what was reported of them stays valid.
    :param left: blocks of the span of which nothing is known: what was reported of them stays as it is.
    :param suspended: what the ids of transactions begin with of which something is disputed. What another
        reporter reported of them, too, stays.
    :param others: what others reported of blocks of which it is known what they hold.
    :param outranks: what of it the blocks do not hold is retracted, and not only noted.
    """

    span: Span
    logs: Sequence[Log]
    headers: Mapping[BlockNumber, Header]
    foreign: AbstractSet[str] = frozenset()
    left: Collection[BlockNumber] = ()
    suspended: AbstractSet[str] = frozenset()
    others: Sequence[ReportedEvent] = ()
    outranks: bool = False

    @property
    def blocks(self) -> Blocks:
        """The range."""
        return Blocks(self.span.first, self.span.last)

    def covers(self, block: BlockNumber) -> bool:
        """Whether it says what this block holds."""
        return self.span.first <= block <= self.span.last and block not in self.left


class _Kind(NamedTuple):
    """The events of one type that a transaction has about one transfer, whatever their indices."""

    tx: str
    subject: str
    type: str


class _Difference(Struct):
    """What the blocks say and was not reported, and the reverse."""

    events: list[Event] = field(default_factory=list)
    false: list[EventKey] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)
    """Ids of logs; so is ``surplus``."""
    surplus: set[str] = field(default_factory=set)
    contradicted: list[Contradicted] = field(default_factory=list)


def corrected(view: View, holding: Holding, reported: Reported, read_by: str) -> Outcome:
    """The step that makes what was reported of the blocks equal to what they hold, and what follows from it.

    What they do not hold is retracted, however deep they are. With it go a delayed payout that never existed,
    and waiting facts. What they hold is reported, under a new id where a false fact had the id.

    :param reported: what was reported of blocks.
    :param read_by: the name of the URL that read them first.
    """
    blocks, waiting, chain_id = holding.blocks, view.readings.waiting, view.terms.chain_id
    inside = [each for each in waiting if holding.covers(each.block)]
    outside = [each for each in waiting if not holding.covers(each.block)]
    translation = _translated_again(view, holding, outside)
    paid = _paid_by_another_queue(inside, waiting, translation)
    waited = {tx_of(each.facts["id"]) for each in inside if each.kind is WaitingKind.EXECUTED}
    waited |= {tx_of(each.key) for each in inside if each.kind is WaitingKind.UNKNOWN}
    found = _difference(holding, translation, reported, paid, set(_unclear(chain_id, outside, translation)))
    found.missing -= {log for log in found.missing if tx_of(log) in waited}
    reason = f"not in blocks {blocks.first} to {blocks.last} of chain {chain_id} ({read_by})"
    outranked = [each.event.key for each in found.contradicted if each.outranked]
    against = f"not in block {blocks.first} of chain {chain_id}, which is proven"
    missed = Missed(
        blocks.first, blocks.last, len(found.missing), len(found.surplus), read_by, holding.span.source
    )
    step = Step(
        at=view.clock(),
        events=[
            *retractions_of(found.false, reason, view.clock()),
            *retractions_of(outranked, against, view.clock()),
            *found.events,
        ],
        contradicted=found.contradicted,
        spans=(holding.span,),
        waiting=translation.waiting,
        done=[*translation.done, *_gone(inside, translation, paid)],
        missed=(missed,) if found.missing or found.surplus else (),
        missed_if_new=True,
        source=holding.span.source,
        calls=view.calls(),
    )
    return Outcome(step, translation.unreadable)


def _translated_again(view: View, holding: Holding, outside: Sequence[Waiting]) -> Translation:
    """What the blocks say, as if they were read for the first time.

    :param outside: what waits from other blocks.
    """
    live_to = view.readings.live_to
    return translate(
        view.network,
        view.terms,
        holding.logs,
        holding.headers,
        outside,
        read_to=holding.blocks.last if live_to is None else live_to.number,
        final_to=view.settled_to,
        doubts=view.readings.doubts,
    )


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
) -> _Difference:
    first, last = holding.blocks.first, holding.blocks.last
    said = [
        each
        for each in reported(first, last)
        if holding.covers(each.block) and not isinstance(each.event, ChainHead)
    ]
    for block in {block for block in paid.values() if not holding.covers(block)}:
        said += [each for each in reported(block, block) if log_of(each.event.id) in paid]
    known = {each.event.key: each.event for each in (*holding.others, *said)}
    valid = {each.event.key for each in said if each.canonical}
    shared = {each.event.key for each in said if each.also and tx_of(each.event.id) in holding.suspended}
    again = as_reported_before(translation.events, [each.event for each in said])
    found = _Difference([_with_free_id(event, known) for event in again])
    found.contradicted = list(_contradicted(holding, translation))
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


def _contradicted(holding: Holding, translation: Translation) -> Iterator[Contradicted]:
    """What others reported of the blocks and these do not hold.

    Nothing is said of a block of which not all is reported yet: its log cannot be read, or waits.
    """
    waits = {each.block for each in translation.waiting if each.kind not in _REPORTED_AT_ONCE}
    unclear = waits.union(each.log.block for each in translation.unreadable)
    for each in holding.others:
        is_right = each.block in unclear or is_among(each.event, translation.events)
        if each.canonical and not is_right:
            yield Contradicted(each.event, each.block, each.reporter, outranked=holding.outranks)


def _unclear(
    chain_id: ChainId, outside: Sequence[Waiting], translation: Translation
) -> Iterator[str | _Kind]:
    """Transactions of whose logs not everything can be said now, and events that only wait for more blocks:
    both stay as reported.
    """
    queued = {each.key for each in (*outside, *translation.waiting) if each.kind is WaitingKind.QUEUED}
    for each in translation.waiting:
        match each.kind:
            case WaitingKind.UNKNOWN:
                yield tx_of(each.facts["place"]["id"])
            case WaitingKind.EXECUTED if each.key not in queued:
                yield tx_of(each.facts["id"])
            case WaitingKind.SEND_DEPTH | WaitingKind.REFUND_DEPTH:
                deep = TransferConfirmed if each.kind is WaitingKind.SEND_DEPTH else RefundCompleted
                subject = subject_of_transfer(bytes.fromhex(each.facts["transfer_id"]))
                yield _Kind(tx_of(each.facts["id"]), subject, deep.type)
            case _:
                pass
    for unreadable in translation.unreadable:
        yield tx_of(log_id(chain_id, unreadable.log))


def _with_free_id(event: Event, known: Mapping[EventKey, Event]) -> Event:
    """The event under an id that nothing else was reported by (docs/ingest.md#ids: a further fact)."""
    while (other := known.get(event.key)) is not None and not agree(other, event):
        event = replace(event, id=f"{event.id}:{event.type}")
    return event
