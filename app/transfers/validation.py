"""Validates reported events: each is accepted, repeated or refused.

Nothing here reads a database or a clock. Everything that a verdict depends on is in ``Known``, which is
loaded once for a segment of the feed. Events accepted earlier in the segment count for those after them.
The rules are in docs/interface.md#event-feed, #event-ids, #standing and #refused-events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from operator import attrgetter
from typing import Final, Protocol

from msgspec import Struct, field

from app.network.facts import NetworkFacts
from app.transfers.contents import Pruned, PrunedMatch, agree, together
from app.transfers.events import (
    EVENT_CLASSES,
    BlockEvent,
    ChainReorged,
    Event,
    EventsRetracted,
    RefundPrepared,
    RefundSigned,
    TransferEvent,
    TransferSent,
    ValidatorsUpdated,
)
from app.transfers.ids import Proof, proof_of
from app.transfers.reorganisations import Logged, Origin, as_reported_last, origin_of
from app.transfers.reported import TransferHistory
from app.transfers.signatures import NotTaken, request_refusal, signature_refusal
from app.transfers.subjects import EventKey
from app.values.identifiers import ChainId


class LatestAcceptance(Struct, frozen=True):
    """The newest log entry of a key: its position, the number of the acceptance, and the event."""

    seq: int
    occurrence: int
    event: Event


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

# A transfer has a send, a payout, some statuses. A reporter that sends hundreds of them is broken or hostile.
# They cost time: each event reads the transfer's whole log, and each signature is checked against every
# request. Each reporter has its own bounds, so none can use up another's.
MAX_REQUESTS: Final = 64
"""Refund requests of one transfer that one reporter may send. There is rarely a second."""

MAX_OF_A_TYPE: Final = 256
"""Other events of one type of a transfer, including acceptances after a reorganisation."""

MAX_ROTATIONS: Final = 4096
"""Acceptances of validator sets of one chain: eleven years of one a day. All are read at a reorganisation and
where one is reported out of the chain's order."""

MAX_OF_A_LIMITED: Final = 512
"""All events of one transfer that a reporter limited to some chains may send."""


def most_of(event: TransferEvent) -> int | None:
    """How many acceptances of the event's type one reporter may have of one transfer; None: any number.

    Signatures have bounds of their own (``app.transfers.signatures``).
    """
    if isinstance(event, RefundSigned):
        return None
    return MAX_REQUESTS if isinstance(event, RefundPrepared) else MAX_OF_A_TYPE


AcceptanceCounts = dict[tuple[bytes | ChainId, str], int]
"""How many acceptances a reporter has, by transfer (of validator sets: by chain) and event type.

Counts far below their bounds may be missing.
"""


def too_many(event: Event, acceptances: AcceptanceCounts, *, is_limited: bool = False) -> str | None:
    """Why this reporter may send no more events of this type about the transfer; None where it may.

    :param is_limited: the reporter is limited to some chains, so its signatures may wait for ever.
    """
    if (
        isinstance(event, ValidatorsUpdated)
        and acceptances.get((event.chain_id, event.type), 0) >= MAX_ROTATIONS
    ):
        return (
            f"type: this reporter may send at most {MAX_ROTATIONS} events {event.type} about a chain: "
            "have an operator ingest further ones"
        )
    if not isinstance(event, TransferEvent):
        return None
    if (
        is_limited
        and sum(acceptances.get((event.transfer_id, each), 0) for each in EVENT_CLASSES) >= MAX_OF_A_LIMITED
    ):
        return (
            f"transfer_id: a token that is limited to chains may send at most {MAX_OF_A_LIMITED} events "
            "about a transfer: send further ones with a token for all chains"
        )
    most = MAX_OF_A_TYPE if is_limited and isinstance(event, RefundSigned) else most_of(event)
    if most is None or acceptances.get((event.transfer_id, event.type), 0) < most:
        return None
    return f"type: this reporter may send at most {most} events {event.type} about a transfer"


_TWO_CONTENTS: Final = "id: was reported before with other content: send a new fact with a new id"
_PRUNED_TRANSFER: Final = (
    "transfer_id: the transfer had finished and was pruned; no further events are accepted"
)


class ReporterScope(Protocol):
    """What a reporter may report."""

    @property
    def chains(self) -> frozenset[int] | None:
        """The chains that it is limited to; None: all."""

    def refusal(self, event: Event, known: Callable[[], Origin]) -> str | None:
        """Why the event is outside the scope, or None. ``known`` returns the chains of its transfer."""


class ChainLimits(Struct, frozen=True):
    """What bounds a reorg of a chain. None: not known."""

    highest_block: int | None = None
    """How far the chain has been read."""
    pruned_up_to: int | None = None
    """The highest block that had a pruned event."""


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
    they take back again."""
    is_belated: bool = False
    """Whether the segment is a belated reorg of an exported log."""
    reporter: str = ""
    """Who reports the events that are validated next; ``scope`` and ``acceptances`` are this one's."""
    acceptances: AcceptanceCounts | None = None
    """The reporter's acceptances; None where it has no bounds."""

    def note(self, entry: LogEntry) -> None:
        """Add the entry to the log that the following events are validated with."""
        event = entry.event
        self.next_seq = entry.seq + 1
        self.latest[event.key] = LatestAcceptance(entry.seq, entry.occurrence, event)
        if isinstance(event, TransferEvent):
            history = self.histories[event.transfer_id]
            log: Sequence[Logged[TransferEvent]] = [*history.log, Logged(entry.seq, event, entry.chains)]
            if entry.occurrence:  # the first of a key does not change earlier ones
                log = as_reported_last(log)
            self.histories[event.transfer_id] = history = history.with_log(log)
            self.steps.setdefault(event.transfer_id, []).append(history)
        if self.acceptances is not None and isinstance(event, TransferEvent | ValidatorsUpdated):
            about = event.transfer_id if isinstance(event, TransferEvent) else event.chain_id
            self.acceptances[about, event.type] = self.acceptances.get((about, event.type), 0) + 1


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
    """The verdict about one event. Changes nothing.

    The scope is checked first: an event outside of it must not even raise an anomaly.
    """
    if (outside := known.scope.refusal(event, lambda: _origin(event, known))) is not None:
        return Refused(outside)
    latest = _comparable(event, known)
    pruned = known.pruned.match(event)
    differs = latest is not None and not agree(latest.event, event)
    if differs or pruned is PrunedMatch.OTHER_CONTENT:
        return Refused(_TWO_CONTENTS, two_contents=True)
    if pruned is PrunedMatch.SAME_EVENT:
        return Repeated()
    if pruned is PrunedMatch.TRANSFER:
        return Refused(_PRUNED_TRANSFER)
    if latest is None and event.key in known.dropped:
        return Repeated()
    if latest is None:
        return _refusal(event, known) or Accepted(_entry(event, known))
    return _validate_again(event, latest, known)


def _comparable(event: Event, known: Known) -> LatestAcceptance | None:
    """The newest acceptance of the event's key that this reporter may be compared with.

    Reports of a limited reporter are not compared with those of reporters with other limits: the transfer may
    be outside its chains.
    """
    latest = known.latest.get(event.key)
    if latest is None or not isinstance(event, TransferEvent):
        return latest
    same = (known.scope.chains, None)
    of_key = [each for each in known.histories[event.transfer_id].log if each.event.id == event.id]
    of_key += known.not_needed.get(event.key, ())
    comparable = [each for each in of_key if each.chains in same]
    if not comparable:
        return None
    newest = max(comparable, key=attrgetter("seq"))
    return LatestAcceptance(newest.seq, latest.occurrence, newest.event)


def _entry(event: Event, known: Known) -> LogEntry:
    latest = known.latest.get(event.key)
    occurrence = 0 if latest is None else latest.occurrence + 1
    chains = known.scope.chains if isinstance(event, TransferEvent) else None
    is_belated = known.is_belated or event.key in known.belated
    return LogEntry(known.next_seq, occurrence, event, chains, known.reporter, is_belated)


def _validate_again(event: Event, latest: LatestAcceptance, known: Known) -> Verdict:
    """The verdict about an event that was accepted before. The fields of both reports are combined."""
    combined = together(latest.event, event)
    entry = _entry(combined, known)
    if _is_canonical(event, latest, known):
        adds = combined is not latest.event
        if adds and isinstance(combined, TransferSent) and (reason := send_refusal(combined, known.facts)):
            return Refused(reason)
        return Repeated(entry if adds or _is_logged_again(combined, latest, known) else None)
    return _refusal(combined, known) or Accepted(entry)


def _origin(event: Event, known: Known) -> Origin:
    """The chains of the event's transfer, as far as they are known."""
    return known.histories[event.transfer_id].origin() if isinstance(event, TransferEvent) else Origin()


def _is_canonical(event: Event, latest: LatestAcceptance, known: Known) -> bool:
    if latest.seq > known.last_reversal:
        return True
    if any(each.seq == latest.seq for each in known.not_needed.get(event.key, ())):
        return True
    if isinstance(event, TransferEvent):
        canonical = known.histories[event.transfer_id].standing()
        return any(other.id == event.id for other in canonical.every(type(event)))
    return event.key not in known.orphaned


def _is_logged_again(event: Event, latest: LatestAcceptance, known: Known) -> bool:
    """Whether a repetition is logged although the event is canonical.

    A repeated reorg reverses again: a sender that resends everything first makes the orphaned events
    canonical again. A belated one is not logged where it reverses nothing. Also logged is an event whose
    chain is not known yet: a reorg may have reversed its first acceptance, and then this one counts.
    """
    if isinstance(event, ChainReorged):
        return known.is_belated or known.belated.get(event.key, True)
    if not isinstance(event, BlockEvent) or event.block is None or latest.seq > known.last_reversal:
        return False
    return origin_of(known.histories[event.transfer_id].log).chain_of(event) is None


def _refusal(event: Event, known: Known) -> Refused | None:
    if known.acceptances is not None:
        is_limited = known.scope.chains is not None
        if (bound := too_many(event, known.acceptances, is_limited=is_limited)) is not None:
            return Refused(bound)
    if isinstance(event, ChainReorged):
        if known.is_belated:
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
        not_taken = signature_refusal(event, known.histories[event.transfer_id], known.facts)
    return None if not_taken is None else Refused(not_taken.reason, aside=not_taken.aside)


def send_refusal(event: TransferSent, facts: NetworkFacts) -> str | None:
    """Why a send is refused; None where it is accepted."""
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


def reaches_too_far(reorg: ChainReorged, limits: ChainLimits, max_reorg_blocks: int) -> str | None:
    """Why a new reorg is refused; None where it is accepted."""
    highest, final = limits.highest_block, limits.pruned_up_to
    if highest is not None and highest - reorg.from_block > max_reorg_blocks:
        return (
            f"from_block: is {highest - reorg.from_block} blocks below the chain's highest block {highest}; "
            f"at most {max_reorg_blocks} are accepted (MAX_REORG_BLOCKS)"
        )
    if final is not None and reorg.from_block <= final:
        return (
            f"from_block: must be above block {final} of the chain, which is final: transfers in it were "
            "pruned"
        )
    return None
