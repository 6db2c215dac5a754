"""Deciding, inside one transaction, what becomes of each readable event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from sqlalchemy import Connection

from app.domain.network_facts import NetworkFacts
from app.domain.refund.evidence import contradictions, signature_is_provably_false
from app.domain.reporting.scope import EVERYTHING, Scope
from app.domain.transfer.events import (
    BlockEvent,
    ChainEvent,
    ChainReorged,
    Event,
    EventsRetracted,
    FeeUpdated,
    LiquidityAdded,
    LiquidityWithdrawn,
    RefundPrepared,
    RefundSigned,
    TransferEvent,
    TransferSent,
    ValidatorsUpdated,
)
from app.domain.transfer.judge import LatestAcceptance, LogEntry
from app.domain.transfer.pruned import Pruned
from app.domain.transfer.standing import Logged, origin_of
from app.domain.transfer.state import TransferHistory, refund_context
from app.queries.feed.chain_progress import load_progress
from app.queries.feed.codec import encode_event
from app.queries.feed.facts import load_network_facts
from app.queries.feed.histories import load_histories
from app.queries.feed.latest import latest_acceptances
from app.queries.feed.positions import load_positions
from app.queries.feed.pruned import any_pruned, load_pruned, pruned_up_to
from app.queries.feed.retracted import retracted_ids
from app.queries.feed.standing import standing_of_chain
from app.services.feed import chains, pools, retract
from app.services.feed.anomalies import raise_two_contents
from app.services.feed.lines import Read, Refused
from app.services.feed.log import append
from app.services.feed.projection import project


@dataclass
class Acceptance:
    """Takes events in segments: all of one segment are judged, kept and folded together."""

    connection: Connection
    reporter: str
    now: datetime
    max_reorg_blocks: int
    scope: Scope = EVERYTHING
    accepted: int = 0
    repeated: int = 0
    refused: list[Refused] = field(default_factory=list)

    @staticmethod
    def is_barrier(event: Event) -> bool:
        """Whether later events are judged differently after this one."""
        return isinstance(event, ChainReorged | ValidatorsUpdated | EventsRetracted)

    def take(self, lines: Sequence[Read]) -> None:
        """Judge one segment and write what follows from it."""
        segment = _Segment(self.connection, lines, self.max_reorg_blocks, self.now, self.scope)
        for line in lines:
            verdict = segment.judge(line.event)
            if verdict is ACCEPTED:
                self.accepted += 1
            elif verdict is REPEATED:
                self.repeated += 1
            else:
                self.refused.append(Refused(line.line, line.event.id, verdict))
        append(self.connection, segment.entries, self.reporter, self.now)
        segment.fold()


ACCEPTED = "accepted"
REPEATED = "repeated"


class _Segment:
    """What is known while the events of one segment are judged."""

    def __init__(
        self,
        connection: Connection,
        lines: Sequence[Read],
        max_reorg_blocks: int,
        now: datetime,
        scope: Scope,
    ) -> None:
        self.connection = connection
        self.scope = scope
        self.now = now
        self.max_reorg_blocks = max_reorg_blocks
        events = [line.event for line in lines]
        positions = load_positions(connection)
        self._last_taking_back = positions.last_reversal
        self.known = latest_acceptances(connection, {event.id for event in events})
        self.histories = load_histories(
            connection, {event.transfer_id for event in events if isinstance(event, TransferEvent)}
        )
        self.pruned = Pruned()
        if positions.any_pruned:
            unknown = [event.id for event in events if event.id not in self.known]
            self.pruned = load_pruned(connection, unknown, self.histories.keys())
        self.entries: list[LogEntry] = []
        self._next_seq = positions.last_seq + 1

    @cached_property
    def facts(self) -> NetworkFacts:
        return load_network_facts(self.connection)

    def judge(self, event: Event) -> str:
        """ACCEPTED, REPEATED, or the reason for refusing; what is accepted is noted."""
        outside = self.scope.refusal(event, self._known_of_transfer(event))
        if outside is not None:
            return outside  # before anything else: it must not even raise an anomaly
        body = encode_event(event)
        known = self.known.get(event.id)
        if self._has_other_content(event, body, known):
            raise_two_contents(self.connection, event.id, self.now)
            return "id: was reported before with other content; a new fact needs a new id"
        if self.pruned.has_event(event.id):
            return REPEATED
        if self.pruned.has_transfer_of(event):
            return "transfer_id: the transfer had finished and was pruned; nothing more is taken about it"
        if known is not None and self._stands(event, known):
            if self._must_be_kept(event, known):
                self._note(event, body, known)
            return REPEATED
        reason = self._refusal(event)
        if reason is not None:
            return reason
        self._note(event, body, known)
        return ACCEPTED

    def _has_other_content(self, event: Event, body: str, known: LatestAcceptance | None) -> bool:
        if known is not None:
            return (known.type, known.body) != (event.type.value, body)
        return self.pruned.has_other_content(event, body)

    def _known_of_transfer(self, event: Event) -> Iterator[TransferEvent]:
        """What is known of the event's transfer, without what an operator took back."""
        if isinstance(event, TransferEvent):
            yield from (logged.event for logged in self.histories[event.transfer_id].kept())

    def _stands(self, event: Event, known: LatestAcceptance) -> bool:
        if known.seq > self._last_taking_back:
            return True
        if isinstance(event, TransferEvent):
            standing = self.histories[event.transfer_id].standing()
            return any(other.id == event.id for other in standing.every(type(event)))
        if isinstance(event, ChainEvent):
            return bool(standing_of_chain(self.connection, event.chain_id, [Logged(known.seq, event)]))
        return known.seq > retracted_ids(self.connection, [event.id]).get(event.id, 0)

    def _must_be_kept(self, event: Event, known: LatestAcceptance) -> bool:
        """Whether a repetition must be kept although the event stands.

        A reorg retracts again when it is repeated, however far the chain is by then: a sender that
        resends all makes the orphaned events stand first. And an event whose chain is not known yet may
        turn out to have been retracted since its first acceptance: then this one counts.
        """
        if isinstance(event, ChainReorged):
            return True
        if not isinstance(event, BlockEvent) or event.block is None or known.seq > self._last_taking_back:
            return False
        log = self.histories[event.transfer_id].log
        return origin_of(logged.event for logged in log).chain_of(event) is None

    def _refusal(self, event: Event) -> str | None:
        if isinstance(event, ChainReorged):
            return self._too_deep(event) or self._pruned_above(event)
        if isinstance(event, EventsRetracted) and (target := any_pruned(self.connection, event.targets)):
            return f"targets: {target!r} was pruned and cannot be taken back"
        if isinstance(event, RefundPrepared | RefundSigned):
            return self._provably_false(event)
        return None

    def _too_deep(self, reorg: ChainReorged) -> str | None:
        progress = load_progress(self.connection, [reorg.chain_id]).get(reorg.chain_id)
        highest = progress.highest_block if progress else None
        if highest is None or highest - reorg.from_block <= self.max_reorg_blocks:
            return None
        return (
            f"from_block: is {highest - reorg.from_block} blocks below the chain's highest block {highest}; "
            f"at most {self.max_reorg_blocks} are believed (MAX_REORG_BLOCKS)"
        )

    def _pruned_above(self, reorg: ChainReorged) -> str | None:
        final = pruned_up_to(self.connection, reorg.chain_id)
        if final is None or reorg.from_block > final:
            return None
        return (
            f"from_block: transfers in block {final} of the chain were pruned as final, so no "
            "reorganisation from there on or below is believed"
        )

    def _provably_false(self, event: RefundPrepared | RefundSigned) -> str | None:
        standing = self.histories[event.transfer_id].standing()
        context = refund_context(event.transfer_id, standing.first(TransferSent), self.facts)
        if isinstance(event, RefundPrepared):
            found = contradictions(event.wd_onchain, context)
            return f"wd_onchain: {found[0]}" if found else None
        requests = [prepared.wd_onchain for prepared in standing.every(RefundPrepared)]
        validators = self.facts.validators.get(context.src_chain_id or 0)
        reason = signature_is_provably_false(context, requests, event.signature, validators)
        return f"signature: {reason}" if reason else None

    def _note(self, event: Event, body: str, known: LatestAcceptance | None) -> None:
        seq, occurrence = self._next_seq, known.occurrence + 1 if known else 0
        self._next_seq += 1
        self.entries.append(LogEntry(seq, occurrence, event, body))
        self.known[event.id] = LatestAcceptance(seq, occurrence, event.type.value, body)
        if isinstance(event, TransferEvent):
            history = self.histories[event.transfer_id]
            self.histories[event.transfer_id] = replace(history, log=[*history.log, Logged(seq, event)])

    def fold(self) -> None:
        """Write what follows from the noted events; they are in the log already."""
        events = [entry.event for entry in self.entries]
        touched = {event.transfer_id for event in events if isinstance(event, TransferEvent)}
        project(self.connection, self._complete(touched), self.facts, self.now)
        chains.fold_chain_readings(self.connection, [e for e in events if isinstance(e, ChainEvent)])
        liquidity = [e for e in events if isinstance(e, LiquidityAdded | LiquidityWithdrawn)]
        pools.fold_liquidity(self.connection, liquidity, self.now)
        pools.fold_fees(self.connection, [e for e in events if isinstance(e, FeeUpdated)])
        for event in events:
            if isinstance(event, ValidatorsUpdated):
                chains.fold_validators(self.connection, event.chain_id, self.now)
            elif isinstance(event, ChainReorged):
                chains.fold_reorg(self.connection, event, self.now)
            elif isinstance(event, EventsRetracted):
                retract.fold_retractions(self.connection, self.now)

    def _complete(self, touched: set[bytes]) -> list[TransferHistory]:
        """The touched histories; one that reorgs may reach is read again, for it may have just
        learned which chains it is on.
        """
        histories = [self.histories[transfer_id] for transfer_id in touched]
        stale = {h.transfer_id for h in histories if h.log[0].seq < self._last_taking_back}
        reread = load_histories(self.connection, stale) if stale else {}
        return [reread.get(history.transfer_id, history) for history in histories]
