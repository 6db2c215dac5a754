"""All that a transfer's statuses ever followed from: events, reorgs, retractions and validators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.domain.crypto import parse_evm_address
from app.domain.following.position import Position
from app.domain.keys import ChainId, TransferId
from app.domain.refund.withdraw_ids import PaidIds
from app.domain.transfer.events import TransferEvent, ValidatorsUpdated
from app.domain.transfer.standing import Logged, Reorg, Retraction
from app.domain.transfer.subjects import EventKey
from app.domain.validators import ValidatorSet


@dataclass(frozen=True, slots=True)
class KeyedReorg:
    """A reorg, whether or not it stands, and what names it."""

    key: EventKey
    reorg: Reorg


@dataclass(frozen=True, slots=True)
class Ask:
    """An ask for the refund. ``position`` is None for one that was kept before its position was."""

    at: datetime
    position: Position | None


@dataclass(frozen=True, slots=True)
class Past:
    """All that the statuses of a transfer ever followed from, each with its position in the log."""

    transfer_id: TransferId
    log: Sequence[Logged[TransferEvent]]
    """Every acceptance, with what was told in it."""
    reorgs: Sequence[KeyedReorg] = ()
    """Those of the chains that events of the log may be on."""
    retractions: Sequence[Retraction] = ()
    rotations: Sequence[Logged[ValidatorsUpdated]] = ()
    """Acceptances about the source chain's validators; none where no refund was prepared."""
    ask: Ask | None = None
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
