"""What was ever reported about one transfer, and what of it counts and stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.domain.keys import ChainId, TransferId
from app.domain.refund.withdraw_ids import PaidIds
from app.domain.transfer.events import (
    PlacedEvent,
    RefundPrepared,
    TransferEvent,
    TransferSent,
    TransferSubmitted,
)
from app.domain.transfer.lifecycle import StandingEvents
from app.domain.transfer.standing import (
    ChainReading,
    Logged,
    Origin,
    Reorg,
    Retracted,
    concerned_chain,
    counting,
    not_retracted,
    origin_of,
    readings,
    standing_of_transfer,
)


@dataclass(frozen=True, slots=True)
class TransferHistory:
    """The whole log of one transfer, with the reorgs and retractions that may reach its events."""

    transfer_id: TransferId
    log: Sequence[Logged[TransferEvent]]
    reorgs: Sequence[Reorg] = ()
    retracted: Retracted = field(default_factory=dict)
    paid_ids: PaidIds = field(default_factory=dict)
    """Of the withdraw ids of its requests those that were paid for other transfers."""
    asked_at: datetime | None = None
    """When its refund was asked for. The ask is no event: it is kept beside the log."""
    ahead: frozenset[int] = frozenset()
    """Positions in the log of acceptances whose time is still to come."""

    def with_log(self, log: Sequence[Logged[TransferEvent]]) -> TransferHistory:
        """The same with another log. Made for each event of the feed, where ``replace`` takes much longer."""
        return TransferHistory(
            self.transfer_id,
            log,
            self.reorgs,
            self.retracted,
            self.paid_ids,
            self.asked_at,
            self.ahead,
        )

    def kept(self) -> Sequence[Logged[TransferEvent]]:
        """The acceptances whose time has come and that no operator retracted."""
        log = [each for each in self.log if each.seq not in self.ahead] if self.ahead else self.log
        return not_retracted(log, self.retracted, self.reorgs)

    def origin(self) -> Origin:
        """The transfer's two chains."""
        return origin_of(self.kept())

    def counted(self, origin: Origin | None = None) -> Sequence[Logged[TransferEvent]]:
        """Of the acceptances that no operator retracted those that count."""
        kept = self.kept()
        return counting(kept, origin or origin_of(kept))

    def standing(self) -> StandingEvents:
        """The events that stand."""
        origin = self.origin()
        return StandingEvents.of(standing_of_transfer(self.counted(origin), self.reorgs, origin))

    def readings(self) -> tuple[tuple[ChainId, ChainReading], ...]:
        """How far the events that stand show that chains were read."""
        return readings(self.standing().events(), self.origin())

    def misplaced(self, origin: Origin) -> Sequence[TransferEvent]:
        """Events that were read on another chain than the transfer's own, each once."""
        found = {
            each.event.id: each.event
            for each in self.kept()
            if origin.is_misplaced(each.event)
            and (each.chains is None or concerned_chain(each.event, origin) in each.chains)
        }
        return list(found.values())

    @property
    def is_known(self) -> bool:
        """Whether the log has anything about the transfer but what waits for its send."""
        naming = TransferSent | TransferSubmitted
        return any(logged.chains is None or isinstance(logged.event, naming) for logged in self.log)

    def disputed_chains(self) -> frozenset[ChainId]:
        """Where its events, standing or not, contradict each other about where it is: all chains they name.

        Its sends and submissions do, or what was read on a chain that none of them names; or a send of a
        limited reporter stands in a block of its own, which does not count beside a proven one.
        """
        told = [each.event for each in self.log if isinstance(each.event, TransferSent | TransferSubmitted)]
        sources = {event.src_chain_id for event in told}
        destinations = {event.dst_chain_id for event in told}
        if any(isinstance(event, TransferSent) for event in told):
            destinations.discard(None)  # a submission that names none says nothing against a send
        placed = {each.event.chain_id for each in self.log if isinstance(each.event, PlacedEvent)}
        others = placed - sources - destinations - {None} if told else set()
        if len(sources) < 2 and len(destinations) < 2 and not others and not self._has_other_blocks():
            return frozenset()
        named = sources | destinations | others
        return frozenset(chain_id for chain_id in named if chain_id is not None)

    def _has_other_blocks(self) -> bool:
        sends = [(each.event.block, each.chains) for each in self.log if isinstance(each.event, TransferSent)]
        blocks = {block for block, chains in sends if chains is None}
        return bool(blocks) and any(block not in blocks for block, _ in sends)

    @property
    def has_request(self) -> bool:
        """Whether a refund request was ever accepted."""
        return any(isinstance(logged.event, RefundPrepared) for logged in self.log)

    @property
    def requests(self) -> set[bytes]:
        """Every refund request that was ever accepted."""
        return {each.event.wd_onchain for each in self.log if isinstance(each.event, RefundPrepared)}

    def origin_event(self, standing: StandingEvents) -> TransferSent | TransferSubmitted | None:
        """The event that describes the transfer: a send before a submission, a standing one first."""
        if (send := standing.first(TransferSent)) is not None:
            return send
        ever = StandingEvents.of({logged.event.id: logged.event for logged in self.counted()}.values())
        return ever.first(TransferSent) or standing.first(TransferSubmitted) or ever.first(TransferSubmitted)
