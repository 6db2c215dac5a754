"""A transfer's log as it was at any position: which events, reorgs, retractions and validators there were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from app.domain.crypto import parse_evm_address
from app.domain.following.change import StatusThen, account_keys
from app.domain.following.position import Position
from app.domain.keys import ChainId, TransferId
from app.domain.network_facts import NetworkFacts
from app.domain.refund.withdraw_ids import PaidIds
from app.domain.transfer.events import TransferEvent, TransferSent, ValidatorsUpdated
from app.domain.transfer.history import TransferHistory
from app.domain.transfer.standing import Logged, Reorg, Retraction, as_told_last, retracted_by
from app.domain.transfer.state import status_answer
from app.domain.transfer.subjects import EventKey, subject_of_transfer
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

    def at(self, position: Position, facts: NetworkFacts) -> StatusThen | None:
        """What was answered when the log reached to this position; None while there was no transfer.

        :param facts: with the validators that were configured.
        """
        log = as_told_last([logged for logged in self.log if logged.seq <= position.seq])
        if not log:
            return None
        retracted = retracted_by(each for each in self.retractions if each.seq <= position.seq)
        reorgs = [
            each.reorg for each in self.reorgs if retracted.get(each.key, 0) < each.reorg.seq <= position.seq
        ]
        subject = subject_of_transfer(self.transfer_id)
        history = TransferHistory(
            self.transfer_id,
            log,
            reorgs,
            {key.id: seq for key, seq in retracted.items() if key.subject == subject},
            self.paid_ids,
            self._asked_at(position),
        )
        if not history.is_known:
            return None
        sets = self._validators(position.seq, reorgs, retracted)
        answer = status_answer(history, replace(facts, validators={**facts.validators, **sets}))
        standing = history.standing()
        origin = history.origin_event(standing)
        accounts = account_keys(origin.sender, origin.receiver) if origin else frozenset[str]()
        return StatusThen(answer, accounts, is_sent=standing.first(TransferSent) is not None)

    def _asked_at(self, position: Position) -> datetime | None:
        ask = self.ask
        if ask is None or (ask.position is not None and ask.position > position):
            return None
        return ask.at

    def _validators(
        self, seq: int, reorgs: Sequence[Reorg], retracted: Mapping[EventKey, int]
    ) -> dict[ChainId, ValidatorSet]:
        """By chain its last standing rotation."""
        latest = {logged.event.key: logged for logged in self.rotations if logged.seq <= seq}
        standing = [
            logged.event
            for key, logged in latest.items()
            if logged.seq > retracted.get(key, 0)
            and not any(r.reaches(logged.event.chain_id, logged.event.block, logged.seq) for r in reorgs)
        ]
        sets: dict[ChainId, ValidatorSet] = {}
        for version, event in enumerate(sorted(standing, key=lambda e: e.order), start=1):
            sets[event.chain_id] = reported_set(event, version)
        return sets


def reported_set(event: ValidatorsUpdated, version: int) -> ValidatorSet:
    """The validators that an event tells of."""
    addresses = (parse_evm_address(signer) or b"" for signer in event.signers)
    return ValidatorSet.of(event.chain_id, version, zip(addresses, event.powers, strict=True))
