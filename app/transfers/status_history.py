"""Every status that a transfer ever had, from its log taken in one entry after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from app.network.facts import NetworkFacts
from app.network.validators import ValidatorSet
from app.refunds.request import PaidIds
from app.transfers.events import (
    BlockEvent,
    RefundPrepared,
    RefundSigned,
    TransferConfirmed,
    TransferEvent,
    TransferSent,
    TransferSubmitted,
    ValidatorsUpdated,
)
from app.transfers.reorganisations import (
    Logged,
    Origin,
    Reorg,
    Retraction,
    as_reported_last,
    counting,
    gone_at,
    orphaned_by,
    retracted_by,
    trusted,
)
from app.transfers.reported import TransferHistory
from app.transfers.state import refund_standing
from app.transfers.status import RefundStanding, StandingEvents, status_of
from app.transfers.status_changes import Position, StatusThen, account_keys
from app.transfers.subjects import OPERATORS, EventKey, subject_of_transfer
from app.values.crypto import parse_evm_address
from app.values.identifiers import ChainId, TransferId


class KeyedReorg(Struct, frozen=True):
    """A reorg, whether or not it stands, and what names it."""

    key: EventKey
    reorg: Reorg


class UserRequest(Struct, frozen=True):
    """An ask for the refund. ``position`` is None for one that was kept before its position was."""

    at: datetime
    position: Position | None


class Past(Struct, frozen=True):
    """All that the statuses of a transfer ever followed from, each with its position in the log."""

    transfer_id: TransferId
    log: Sequence[Logged[TransferEvent]]
    """Every acceptance, with what was told in it."""
    reorgs: Sequence[KeyedReorg] = ()
    """Those of the chains that events of the log may be on."""
    retractions: Sequence[Retraction] = ()
    rotations: Sequence[Logged[ValidatorsUpdated]] = ()
    """Acceptances about the source chain's validators; none where no refund was prepared."""
    ask: UserRequest | None = None
    paid_ids: PaidIds = field(default_factory=dict)
    learned: Mapping[Position, datetime] = field(default_factory=dict)
    """When the gateway learned of what is at each position at which the status may have changed."""

    def asked_at(self, position: Position) -> datetime | None:
        """When the refund was asked for, where that was by then."""
        ask = self.ask
        if ask is None or (ask.position is not None and ask.position > position):
            return None
        return ask.at


class Rotations:
    """The validators of each chain, as the rotations that were taken in report them."""

    def __init__(self) -> None:
        self._latest: dict[EventKey, Logged[ValidatorsUpdated]] = {}
        self._standing: dict[ChainId, ValidatorsUpdated] = {}

    @property
    def subjects(self) -> set[str]:
        """What they are about."""
        return {key.subject for key in self._latest}

    def add(
        self,
        logged: Logged[ValidatorsUpdated],
        retracted: Mapping[EventKey, int],
        reorgs: Sequence[Reorg],
    ) -> None:
        """Take in an acceptance, later than all before."""
        is_known = logged.event.key in self._latest
        self._latest[logged.event.key] = logged
        if is_known:
            self.look_at_all(retracted, reorgs)
        else:
            self._note(logged.event)

    def look_at_all(self, retracted: Mapping[EventKey, int], reorgs: Sequence[Reorg]) -> None:
        """Find anew which of them stand."""
        self._standing = {}
        for key, logged in self._latest.items():
            event = logged.event
            falls = any(r.reaches(event.chain_id, event.block, logged.seq) for r in reorgs)
            if logged.seq > retracted.get(key, 0) and not falls:
                self._note(event)

    def _note(self, event: ValidatorsUpdated) -> None:
        known = self._standing.get(event.chain_id)
        if known is None or known.order < event.order:
            self._standing[event.chain_id] = event

    def sets(self) -> dict[ChainId, ValidatorSet]:
        """By chain its last standing rotation."""
        return {chain_id: reported_set(event, 1) for chain_id, event in self._standing.items()}


def reported_set(event: ValidatorsUpdated, version: int) -> ValidatorSet:
    """The validators that an event tells of."""
    addresses = (parse_evm_address(signer) or b"" for signer in event.signers)
    return ValidatorSet.of(event.chain_id, version, zip(addresses, event.powers, strict=True))


_JUDGED = (TransferSent, RefundPrepared, RefundSigned)
"""What the judgement of refund requests rests on, of a transfer's own events."""

Entry = Logged[TransferEvent] | Logged[ValidatorsUpdated] | KeyedReorg | Retraction


class Forward:
    """What a transfer's past came to at one position, moved on from there.

    An entry changes the events of its own id, and a reorg those that it reaches. What may change others, a
    retraction or another origin, has all of them looked at again: that is rare.
    """

    def __init__(self, past: Past, facts: NetworkFacts) -> None:
        """
        :param facts: with the validators that were configured.
        """
        self._past = past
        self._facts = facts
        self._to_come = deque(sorted(_entries(past), key=lambda each: each[0]))
        self._subject = subject_of_transfer(past.transfer_id)
        self._retractions: list[Retraction] = []
        self._retracted: dict[EventKey, int] = {}
        self._all_reorgs: list[KeyedReorg] = []
        self._reorgs: list[Reorg] = []
        self._rotations = Rotations()
        self._by_id: dict[str, list[Logged[TransferEvent]]] = defaultdict(list)
        self._naming: set[str] = set()
        """Ids under which a send or a submission was reported."""
        self._is_known = False
        self._origin = Origin()
        self._send_gone = self._send_orphaned = 0
        """Confirmations before these positions fell with a send."""
        self._standing: dict[str, Logged[TransferEvent]] = {}
        self._events = StandingEvents({})
        self._refund: RefundStanding | None = None
        self._accounts: frozenset[str] | None = None

    def until(self, position: Position) -> Iterator[None]:
        """Take in all entries up to a position; a step for each, so that others can have their turn."""
        while self._to_come and self._to_come[0][0] <= position.seq:
            self._take(self._to_come.popleft()[1])
            yield

    def status(self, position: Position) -> StatusThen | None:
        """What was answered at the position that was reached; None while there was no transfer."""
        if not self._is_known:
            return None
        if self._refund is None:
            # The ask is no part of it: it counts at once, wherever it lies between two entries.
            sets = {**self._facts.validators, **self._rotations.sets()}
            facts = replace(self._facts, validators=sets)
            self._refund = refund_standing(self._history(()), self._events, facts)
        if self._accounts is None:
            origin = self._named().origin_event(self._events)
            self._accounts = account_keys(origin.sender, origin.receiver) if origin else frozenset()
        refund = replace(self._refund, asked_at=self._past.asked_at(position))
        is_sent = self._events.first(TransferSent) is not None
        return StatusThen(status_of(self._events, refund), self._accounts, is_sent)

    def _take(self, entry: Entry) -> None:
        if isinstance(entry, Retraction):
            self._take_retraction(entry)
        elif isinstance(entry, KeyedReorg):
            self._take_reorg(entry)
        elif isinstance(entry.event, ValidatorsUpdated):
            self._rotations.add(entry, self._retracted, self._reorgs)
            self._refund = None
        else:
            self._take_acceptance(entry)

    def _take_acceptance(self, logged: Logged[TransferEvent]) -> None:
        event, of_id = logged.event, self._by_id[logged.event.id]
        of_id.append(logged)
        self._is_known |= logged.chains is None
        if isinstance(event, TransferSent | TransferSubmitted):
            self._is_known = True
            self._naming.add(event.id)
        if event.id in self._naming:
            # What comes again under the id of a send may tell the block in which that fell, or outrank it.
            again = len(of_id) > 1 and any(isinstance(each.event, TransferSent) for each in of_id)
            if again or self._named().origin() != self._origin:
                self._look_at_all()
                return
        self._look_at(event.id)

    def _take_retraction(self, retraction: Retraction) -> None:
        self._retractions.append(retraction)
        ours = {self._subject, OPERATORS, *(each.key.subject for each in self._all_reorgs)}
        ours |= self._rotations.subjects
        if any(target.subject in ours for target in retraction.targets):
            self._retracted = dict(retracted_by(self._retractions))
            self._reorgs = [each.reorg for each in self._all_reorgs if self._stands(each)]
            self._look_at_all()

    def _take_reorg(self, keyed: KeyedReorg) -> None:
        self._all_reorgs.append(keyed)
        if not self._stands(keyed):
            return
        self._reorgs.append(keyed.reorg)
        self._rotations.look_at_all(self._retracted, self._reorgs)
        self._refund = self._accounts = None
        self._note_fallen_sends()
        for each in list(self._standing.values()):
            block = each.event.block if isinstance(each.event, BlockEvent) else None
            if block is not None and block >= keyed.reorg.from_block:
                self._look_at(each.event.id)
        for confirmed in list(self._events.every(TransferConfirmed)):
            self._look_at(confirmed.id)

    def _stands(self, keyed: KeyedReorg) -> bool:
        return self._retracted.get(keyed.key, 0) < keyed.reorg.seq

    def _look_at_all(self) -> None:
        """Find anew what stands of everything."""
        self._refund = self._accounts = None
        self._rotations.look_at_all(self._retracted, self._reorgs)
        self._origin = self._named().origin()
        self._note_fallen_sends()
        for event_id in self._by_id:
            self._look_at(event_id)

    def _look_at(self, event_id: str) -> None:
        """Find anew what stands of one id."""
        before, now = self._standing.pop(event_id, None), self._standing_of(event_id)
        if now is not None:
            self._standing[event_id] = now
        if before == now:
            return
        changed = [each.event for each in (before, now) if each is not None]
        if any(isinstance(event, TransferSent) for event in changed):
            sends = [each for each in self._standing.values() if isinstance(each.event, TransferSent)]
            of_type = StandingEvents.of(each.event for each in trusted(sends))
            self._events.by_type[TransferSent] = list(of_type.events())
        if before is not None and not isinstance(before.event, TransferSent):
            self._events.remove(before.event)
        if now is not None and not isinstance(now.event, TransferSent):
            self._events.add(now.event)
        if any(isinstance(event, _JUDGED) for event in changed):
            self._refund = None
        if event_id in self._naming:
            self._accounts = None

    def _standing_of(self, event_id: str) -> Logged[TransferEvent] | None:
        counted = self._counted(event_id)
        if not counted:
            return None
        last = counted[-1]
        since = self._reorgs[bisect_right(self._reorgs, last.seq, key=lambda reorg: reorg.seq) :]
        falls = isinstance(last.event, TransferConfirmed) and last.seq < self._send_orphaned
        return None if falls or orphaned_by(last, self._origin, since) else last

    def _counted(self, event_id: str) -> list[Logged[TransferEvent]]:
        """The acceptances of an id that no operator retracted and that count."""
        retracted_to = self._retracted.get(EventKey(self._subject, event_id), 0)
        kept = [
            logged
            for logged in as_reported_last(self._by_id[event_id])
            if logged.seq > retracted_to
            and not (isinstance(logged.event, TransferConfirmed) and logged.seq < self._send_gone)
        ]
        return list(counting(kept, self._origin))

    def _note_fallen_sends(self) -> None:
        retracted = self._retracted_ids()
        ever = [each for event_id in self._naming for each in as_reported_last(self._by_id[event_id])]
        sends = [each for each in ever if isinstance(each.event, TransferSent)]
        self._send_gone = max((gone_at(each, retracted, self._reorgs) for each in sends), default=0)
        counted = [each for event_id in self._naming for each in self._counted(event_id)]
        orphaned = (
            orphaned_by(each, self._origin, self._reorgs)
            for each in counted
            if isinstance(each.event, TransferSent)
        )
        self._send_orphaned = max(orphaned, default=0)

    def _named(self) -> TransferHistory:
        """The history of all ids that name the transfer as sent or announced: its origin follows from it."""
        log = (logged for event_id in self._naming for logged in self._by_id[event_id])
        return self._history(as_reported_last(sorted(log, key=lambda logged: logged.seq)))

    def _history(self, log: Iterable[Logged[TransferEvent]]) -> TransferHistory:
        past = self._past
        return TransferHistory(
            past.transfer_id, tuple(log), self._reorgs, self._retracted_ids(), past.paid_ids
        )

    def _retracted_ids(self) -> dict[str, int]:
        return {key.id: seq for key, seq in self._retracted.items() if key.subject == self._subject}


def _entries(past: Past) -> Iterator[tuple[int, Entry]]:
    """All of a past, each with its position in the log."""
    for logged in past.log:
        yield logged.seq, logged
    for rotation in past.rotations:
        yield rotation.seq, rotation
    for keyed in past.reorgs:
        yield keyed.reorg.seq, keyed
    for retraction in past.retractions:
        yield retraction.seq, retraction
