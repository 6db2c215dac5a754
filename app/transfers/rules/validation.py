"""Validates reported events: each is accepted, repeated or refused.

Everything that a verdict depends on is in ``Known``, which is loaded once for a segment of the feed. Events
accepted earlier in the segment count for those after them. The rules are in docs/ingest.md,
#event-ids, #standing and #refused-events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final, Protocol

from msgspec import Struct, field

from app.network.rules.validation_facts import NetworkFacts
from app.transfers.rules.certainty import WATCHER
from app.transfers.rules.events.bounds import EventCounts, too_many
from app.transfers.rules.events.contract_ids import Proof, proof_of
from app.transfers.rules.events.counting import Logged, Origin, as_reported
from app.transfers.rules.events.event_types import (
    BlockEvent,
    ChainReorged,
    Event,
    EventsRetracted,
    PlacedEvent,
    RefundPrepared,
    RefundSigned,
    TransferEvent,
    TransferSent,
    ValidatorsUpdated,
)
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.events.merging import Pruned, PrunedMatch, agree, differences, together
from app.transfers.rules.events.reorganisations import ChainLimits, reaches_too_far
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.refund_signatures import NotTaken, request_refusal, signature_refusal


class LatestAcceptance(Struct, frozen=True):
    """The newest log entry of a key: its position, the number of the acceptance, and the event.

    ``first``: the position of the key's first entry; None where it decides nothing.
    """

    seq: int
    occurrence: int
    event: Event
    first: int | None = None


class LogEntry(Struct, frozen=True):
    """One acceptance to append to the log. The first acceptance of a key has occurrence 0.

    ``chains``, of an event about a transfer: the chains its reporter is limited to; None: all.
    ``is_belated``: it is a repeated reorg that takes back only what was known before it.
    """

    seq: int
    occurrence: int
    event: Event
    chains: frozenset[int] | None = None
    reporter: str = ""
    is_belated: bool = False

    @property
    def block(self) -> int | None:
        """The block by which the log finds reorgs, and what these reach. A belated reorg has none."""
        event = self.event
        if isinstance(event, ChainReorged):
            return None if self.is_belated else event.from_block
        return getattr(event, "block", None)


class Accepted(Struct, frozen=True):
    """The event counts from now on."""

    entry: LogEntry


class Repeated(Struct, frozen=True):
    """The event was accepted before and is canonical. ``entry`` is set where it is logged again."""

    entry: LogEntry | None = None


class Refused(Struct, frozen=True):
    """The event is not accepted; ``reason`` is the text for its reporter.

    ``two_contents``: the key is known with other content, which becomes an anomaly. ``aside``: the event is
    quarantined, because it may become acceptable without being sent again.
    """

    reason: str
    two_contents: bool = False
    aside: bool = False


Verdict = Accepted | Repeated | Refused

_TWO_CONTENTS: Final = "id: was reported before with other content{which}: send a new fact with a new id"
_PRUNED_TRANSFER: Final = (
    "transfer_id: the transfer had finished and was pruned; no further events are accepted"
)


class ReporterScope(Protocol):
    """The limits of a reporter."""

    @property
    def chains(self) -> frozenset[int] | None:
        """The chains that it is limited to; None: all."""

    def refusal(self, event: Event, known: Callable[[], Origin]) -> str | None:
        """Why the event is outside the scope, or None. ``known`` returns the chains of its transfer."""


class Known(Struct, kw_only=True):
    """Everything that the verdicts about one segment depend on. ``note`` adds the segment's own events."""

    scope: ReporterScope
    max_reorg_blocks: int
    next_seq: int
    """The position in the log that the next entry gets."""
    last_reversal: int = 0
    """The position of the newest reorg or retraction. Everything accepted later is canonical."""
    latest: dict[EventKey, LatestAcceptance] = field(default_factory=dict)
    histories: dict[bytes, TransferHistory] = field(default_factory=dict)
    """Those of all transfers that the segment has events about."""
    steps: dict[bytes, list[TransferHistory]] = field(default_factory=dict)
    """By transfer, its history after each entry that the segment added, in the order of the log."""
    orphaned: Set[EventKey] = frozenset()
    """Events about no transfer whose latest acceptance is not canonical."""
    not_needed: Mapping[EventKey, Sequence[Logged[TransferEvent]]] = field(default_factory=dict)
    """By key, acceptances of canonical signatures that are not in the histories, because another one of their
    signer counts."""
    outranked: Set[EventKey] = frozenset()
    """Events that a proven block of a watched chain does not hold (docs/interface/events.md#standing)."""
    only_watched: Set[EventKey] = frozenset()
    """Those that only the watcher has reported so far, and may still suspend. The same report of anybody else
    counts, too."""
    dropped: Set[EventKey] = frozenset()
    """Heads of chains that the log had and no longer needs."""
    pruned: Pruned = field(default_factory=Pruned)
    """Includes the ids that retractions of the segment name."""
    facts: NetworkFacts = field(default_factory=NetworkFacts)
    """Loaded where the segment has an event about a transfer."""
    chain_limits: Mapping[int, ChainLimits] = field(default_factory=dict)
    """Those of the chains that the segment has reorgs of."""
    belated: Mapping[EventKey, bool] = field(default_factory=dict)
    """Repeated reorgs that would be refused if they were new, and whether there is anything canonical that
    they take back again. Those that an exported log calls belated take back what they did."""
    reporter: str = ""
    """Who reports the events that are validated next; ``scope`` and ``accepted`` are this one's."""
    accepted: EventCounts | None = None
    """How many of the reporter's events were accepted; None where it has no bounds."""

    def note(self, entry: LogEntry) -> None:
        """Add the entry to the log that the following events are validated with."""
        event = entry.event
        self.next_seq = entry.seq + 1
        self._count(entry)
        self.latest[event.key] = LatestAcceptance(entry.seq, entry.occurrence, event)
        if isinstance(event, TransferEvent):
            history = self.histories[event.transfer_id]
            log: Sequence[Logged[TransferEvent]] = [
                *history.log,
                Logged(entry.seq, event, entry.chains),
            ]
            if entry.occurrence:  # the first of a key does not change earlier ones
                log = as_reported(log)
            self.histories[event.transfer_id] = history = history.with_log(log)
            self.steps.setdefault(event.transfer_id, []).append(history)

    def _count(self, entry: LogEntry) -> None:
        event = entry.event
        if self.accepted is None or not isinstance(event, TransferEvent | ValidatorsUpdated):
            return
        if entry.occurrence and (
            not isinstance(event, TransferEvent)
            or any(
                each.event.id == event.id and each.chains == entry.chains
                for each in self.histories[event.transfer_id].log
            )
        ):
            return
        about = event.transfer_id if isinstance(event, TransferEvent) else event.chain_id
        self.accepted[about, event.type] = self.accepted.get((about, event.type), 0) + 1


def is_barrier(event: Event) -> bool:
    """Whether later events are validated by other facts, so that this one is a segment by itself."""
    return isinstance(event, ChainReorged | ValidatorsUpdated | EventsRetracted)


def validate_segment(events: Iterable[Event], known: Known) -> list[Verdict]:
    """Validate events in their order, each with those before it. Accepted ones are added to ``known``."""
    verdicts: list[Verdict] = []
    for each in events:
        verdict = validate_event(each, known)
        if not isinstance(verdict, Refused) and verdict.entry is not None:
            known.note(verdict.entry)
        verdicts.append(verdict)
    return verdicts


def validate_event(event: Event, known: Known) -> Verdict:
    """The verdict about one event. Changes nothing."""
    # First: an event outside of the scope must not even raise an anomaly.
    if (outside := known.scope.refusal(event, lambda: _origin(event, known))) is not None:
        return Refused(outside)
    latest = known.latest.get(event.key)
    reports = _reports(event, known, latest)
    pruned = known.pruned.match(event)
    if (differing := reports.differences(event)) or pruned is PrunedMatch.OTHER_CONTENT:
        which = f" ({', '.join(differing)})" if differing else ""
        return Refused(_TWO_CONTENTS.format(which=which), two_contents=True)
    if pruned is PrunedMatch.SAME_EVENT or _is_outranked(event, known):
        return Repeated()
    if pruned is PrunedMatch.TRANSFER:
        return Refused(_PRUNED_TRANSFER)
    if latest is None and event.key in known.dropped:
        return Repeated()
    if reports.known is None:
        return _too_many(event, known) or _refusal(event, known) or Accepted(_entry(event, known))
    return _validate_again(event, reports.known, reports.newest, known)


def _is_outranked(event: Event, known: Known) -> bool:
    """Whether a proven block does not hold it. What the gateway itself reads or restores is not compared."""
    return event.key in known.outranked and known.accepted is not None


class _Reports(Struct, frozen=True):
    """What is known under an event's key that its reporter may be compared with.

    ``own`` is the content that reporters with its limits gave, ``others`` that of reporters without limits.
    ``newest`` is the position of the newest of these acceptances, of the others only where they agree.
    """

    own: Event | None = None
    others: Event | None = None
    newest: int = 0

    @property
    def known(self) -> Event | None:
        """The content that a repetition adds to."""
        return self.own if self.own is not None else self.others

    def differences(self, event: Event) -> tuple[str, ...]:
        """The fields in which the event has another content. What its own reporter said before stays said,
        even if a reporter without limits said otherwise since.
        """
        known = self.known
        if known is None:
            return ()
        found = tuple(differences(known, event))
        if found or self.others is None or together(known, event) is known:
            return found
        return tuple(differences(self.others, event))


def _reports(event: Event, known: Known, latest: LatestAcceptance | None) -> _Reports:
    """Reports of a limited reporter are not compared with those of reporters with other limits: the transfer
    may be outside its chains."""
    if latest is None:
        return _Reports()
    if not isinstance(event, TransferEvent):
        return _Reports(latest.event, newest=latest.seq)
    of_key = [each for each in known.histories[event.transfer_id].log if each.event.id == event.id]
    of_key += known.not_needed.get(event.key, ())
    contents = {each.chains: each.event for each in of_key}  # each has all that its reporters said
    chains = known.scope.chains
    same = (
        each for each in of_key if each.chains == chains or (each.chains is None and agree(each.event, event))
    )
    newest = max((each.seq for each in same), default=0)
    return _Reports(contents.get(chains), None if chains is None else contents.get(None), newest)


def _entry(event: Event, known: Known) -> LogEntry:
    latest = known.latest.get(event.key)
    occurrence = 0 if latest is None else latest.occurrence + 1
    chains = known.scope.chains if isinstance(event, TransferEvent) else None
    return LogEntry(known.next_seq, occurrence, event, chains, known.reporter, event.key in known.belated)


def _validate_again(event: Event, content: Event, newest: int, known: Known) -> Verdict:
    """The verdict about an event that was accepted before: the fields of both reports are combined, and no
    bound refuses it.
    """
    combined = together(content, event)
    entry = _entry(combined, known)
    if _is_canonical(event, newest, known):
        adds = combined is not content
        if adds and isinstance(combined, TransferSent) and (reason := send_refusal(combined, known.facts)):
            return Refused(reason)
        return Repeated(entry if adds or _is_logged_again(combined, newest, known) else None)
    return _refusal(combined, known, is_known=True) or Accepted(entry)


def _origin(event: Event, known: Known) -> Origin:
    return known.histories[event.transfer_id].origin() if isinstance(event, TransferEvent) else Origin()


def _is_canonical(event: Event, newest: int, known: Known) -> bool:
    """Whether the event is canonical by a report of reporters with the same limits, or without any."""
    if newest > known.last_reversal:
        return True
    if any(each.seq == newest for each in known.not_needed.get(event.key, ())):
        return True
    if isinstance(event, TransferEvent):
        canonical = known.histories[event.transfer_id].canonical_acceptances()
        return any(
            each.event.id == event.id and each.chains in (known.scope.chains, None) for each in canonical
        )
    return event.key not in known.orphaned


def _is_logged_again(event: Event, newest: int, known: Known) -> bool:
    """Whether a repetition is logged although the event is canonical.

    - A repeated reorg reverses again: a sender that resends everything first makes the orphaned events
      canonical again. A belated one is not logged where it reverses nothing.
    - An event that no send places on a chain: a reorg of its chain may have reversed the earlier acceptance.
    - One that only the watcher reported, and may suspend.
    """
    if event.key in known.only_watched and known.reporter != WATCHER:
        return True
    if isinstance(event, ChainReorged):
        return known.belated.get(event.key, True)
    if not isinstance(event, BlockEvent) or event.block is None or newest > known.last_reversal:
        return False
    if isinstance(event, TransferSent) or (isinstance(event, PlacedEvent) and event.chain_id is not None):
        return False
    history = known.histories[event.transfer_id]
    origin = history.origin()
    if not origin.is_sent:
        return True
    chain_id, block = origin.chain_of(event), event.block
    elsewhere = (each for each in history.reorgs if each.seq > newest and each.chain_id != chain_id)
    return any(each.from_block <= block for each in elsewhere)


def _too_many(event: Event, known: Known) -> Refused | None:
    if known.accepted is None:
        return None
    bound = too_many(event, known.accepted, is_limited=known.scope.chains is not None)
    return None if bound is None else Refused(bound)


def _refusal(event: Event, known: Known, *, is_known: bool = False) -> Refused | None:
    """Why the event is refused by the facts known now. ``is_known``: it was accepted before."""
    if isinstance(event, ChainReorged):
        if known.belated.get(event.key):
            return None
        reason = reaches_too_far(event, known.chain_limits[event.chain_id], known.max_reorg_blocks)
        return None if reason is None else Refused(reason)
    if isinstance(event, EventsRetracted):
        pruned = (target for target in event.targets if target in known.pruned.targets)
        target = next(pruned, None)
        return None if target is None else Refused(f"targets: {target!r} was pruned and cannot be retracted")
    not_taken: NotTaken | None = None
    if isinstance(event, TransferSent):
        reason = send_refusal(event, known.facts)
        return None if reason is None else Refused(reason)
    if isinstance(event, RefundPrepared):
        not_taken = request_refusal(event, known.histories[event.transfer_id], known.facts)
    elif isinstance(event, RefundSigned):
        history = known.histories[event.transfer_id]
        not_taken = signature_refusal(event, history, known.facts, may_wait=is_known)
    return None if not_taken is None else Refused(not_taken.reason, aside=not_taken.aside)


def send_refusal(event: TransferSent, facts: NetworkFacts) -> str | None:
    if event.symbol is None and event.token is None:
        return "symbol: must be given, or token with the token's address"
    if proof_of(event) is Proof.CONTRADICTED:
        return (
            "transfer_id: is not the id that the contract gives a send with these fields: send sender, "
            "receiver, token, amount, dst_chain_id, nonce and contract as its log has them"
        )
    if facts.contradicts_token(event.taken):
        return (
            f"token: is not what is configured as {event.symbol} on chain {event.src_chain_id}: "
            "send the token of the log, and leave symbol out"
        )
    return None
