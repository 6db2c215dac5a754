"""Stages that two kinds of events report."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.transfers.rules.events.event_types import (
    NetworkStatus,
    RefundCompleted,
    RefundRequested,
    TransferConfirmed,
    TransferEvent,
)
from app.transfers.rules.status import CanonicalEvents, RefundFacts, status_of
from app.transfers.rules.stuck import StageName, stages_of
from app.values.codes import XferStatus
from tests.transfers.rules.validating import NOW, TRANSFER

BOTH = [
    (StageName.CONFIRMED, TransferConfirmed, XferStatus.OK_TO_RELAY),
    (StageName.REFUND_REQUESTED, RefundRequested, XferStatus.REFUND_REQUESTED),
    (StageName.REFUNDED, RefundCompleted, XferStatus.REFUND_DONE),
]


@pytest.mark.parametrize(("name", "event_type", "word"), BOTH)
@pytest.mark.parametrize("seconds", [-5, 5])
def test_the_first_of_two_signs_dates_a_stage(
    name: StageName, event_type: type[TransferEvent], word: XferStatus, seconds: int
) -> None:
    event = event_type(id="event", at=NOW, transfer_id=TRANSFER)
    decision = NetworkStatus(
        id="network", at=NOW + timedelta(seconds=seconds), transfer_id=TRANSFER, xfer_status=word
    )
    canonical = CanonicalEvents.of([event, decision])
    answer = status_of(canonical, RefundFacts())
    (stage,) = (each for each in stages_of(canonical, answer.status) if each.name is name)
    assert sorted(stage.event_ids) == ["event", "network"]
    assert stage.at == min(event.at, decision.at) == answer.since
