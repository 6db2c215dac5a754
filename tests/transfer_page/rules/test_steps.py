"""The line of steps: few of them, in order, and no other progress than that of the stages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.transfer_page.rules.steps import StepName, steps_of
from app.transfers.rules.status import CanonicalEvents
from app.transfers.rules.stuck import Progress, Stage, StageName, stages_of
from app.values.codes import RESTING_STATUSES
from app.values.codes import TransferHistoryStatus as Status

AT = datetime(2026, 1, 1, tzinfo=UTC)
DONE, CURRENT, TO_COME, SKIPPED = Progress.DONE, Progress.CURRENT, Progress.TO_COME, Progress.SKIPPED


def stage(name: StageName, progress: Progress, minute: int | None = None) -> Stage:
    return Stage(name, progress, None if minute is None else AT + timedelta(minutes=minute), ())


@pytest.mark.parametrize("status", Status)
def test_one_step_is_current_unless_resting(status: Status) -> None:
    steps = steps_of(stages_of(CanonicalEvents.of(()), status), status)
    assert 2 <= len(steps) <= 6
    assert len({step.name for step in steps}) == len(steps)
    order = [StepName(step.name) for step in steps]
    assert order == sorted(order, key=[*StepName].index)
    progress = [step.progress for step in steps]
    assert progress == sorted(progress, key=[DONE, CURRENT, TO_COME].index)
    assert progress.count(CURRENT) == (0 if status in RESTING_STATUSES else 1)


def test_step_is_done_with_last_stage() -> None:
    announced = (stage(StageName.SUBMITTED, DONE, 1), stage(StageName.SENT, CURRENT))
    (step,) = steps_of(announced, Status.TRANSFER_SUBMITTING)
    assert (step.name, step.progress, step.at) == (StepName.SENT, CURRENT, None)
    sent = (stage(StageName.SUBMITTED, DONE, 1), stage(StageName.SENT, DONE, 3))
    (step,) = steps_of(sent, Status.TRANSFER_SUBMITTING)
    assert (step.progress, step.at) == (DONE, AT + timedelta(minutes=3))
    skipped = (stage(StageName.SUBMITTED, DONE, 1), stage(StageName.SENT, SKIPPED))
    (step,) = steps_of(skipped, Status.TRANSFER_COMPLETED)
    assert (step.progress, step.at) == (DONE, AT + timedelta(minutes=1))
    signing = (stage(StageName.REFUND_PREPARED, DONE, 1), stage(StageName.REFUND_SIGNED, CURRENT, 2))
    (step,) = steps_of(signing, Status.TRANSFER_REQUESTING_REFUND)
    assert (step.name, step.progress, step.at) == (StepName.REFUND_PREPARED, CURRENT, None)


def test_steps_follow_status() -> None:
    both = (stage(StageName.DECIDED, DONE), stage(StageName.RELEASED, DONE), stage(StageName.REFUNDED, DONE))
    assert [s.name for s in steps_of(both, Status.TRANSFER_COMPLETED)] == [
        StepName.CHECKED,
        StepName.PAID_OUT,
    ]
    assert [s.name for s in steps_of(both, Status.TRANSFER_REFUNDED)] == [StepName.STOPPED, StepName.REFUNDED]


def test_request_begins_only_refund() -> None:
    requested_at = datetime(2026, 11, 26, 12, tzinfo=UTC)
    status = Status.TRANSFER_REQUESTING_REFUND
    before = stages_of(CanonicalEvents.of(()), status)
    after = stages_of(CanonicalEvents.of(()), status, requested_at)
    begun = {stage.name: stage.at for stage in after if stage.at is not None}
    assert begun == {StageName.REFUND_REQUESTED: requested_at}
    assert [stage.name for stage in after] == [stage.name for stage in before]
