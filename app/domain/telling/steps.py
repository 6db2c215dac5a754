"""A transfer's course as a line of a few steps, for people: what the stages of the bridge mean to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from app.domain.codes import REFUND_STATUSES
from app.domain.codes import TransferHistoryStatus as Status
from app.domain.transfer.stages import Progress, Stage, StageName


class StepName(StrEnum):
    """The steps, in the order of the courses that have them."""

    SENT = "sent"
    FAILED = "failed"
    FINAL = "final"
    CHECKED = "checked"
    HELD = "held"
    PAID_OUT = "paid_out"
    STOPPED = "stopped"
    REFUND_REQUESTED = "refund_requested"
    REFUND_PREPARED = "refund_prepared"
    REFUND_CONFIRMED = "refund_confirmed"
    REFUND_HELD = "refund_held"
    REFUNDED = "refunded"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: done, current or to come. ``at`` is when it was done, None while it is not, or not known."""

    name: StepName
    progress: Progress
    at: datetime | None


_BEGINNING: Final = {StageName.SUBMITTED: StepName.SENT, StageName.SENT: StepName.SENT}
_TO_THE_PAYOUT: Final[Mapping[StageName, StepName]] = _BEGINNING | {
    StageName.FAILED: StepName.FAILED,
    StageName.CONFIRMED: StepName.FINAL,
    StageName.DECIDED: StepName.CHECKED,
    StageName.DELAYED: StepName.HELD,
    StageName.RELEASED: StepName.PAID_OUT,
}
_TO_THE_REFUND: Final[Mapping[StageName, StepName]] = _BEGINNING | {
    StageName.CONFIRMED: StepName.STOPPED,
    StageName.DECIDED: StepName.STOPPED,
    StageName.REFUND_REQUESTED: StepName.REFUND_REQUESTED,
    StageName.REFUND_PREPARED: StepName.REFUND_PREPARED,
    StageName.REFUND_SIGNED: StepName.REFUND_PREPARED,
    StageName.REFUND_SUBMITTED: StepName.REFUND_CONFIRMED,
    StageName.REFUND_DELAYED: StepName.REFUND_HELD,
    StageName.REFUNDED: StepName.REFUNDED,
}


def steps_of(stages: Iterable[Stage], status: Status) -> tuple[Step, ...]:
    """The steps of the course that the transfer takes by its status.

    Stages that belong to the other course are left out: facts that cannot all be true have them.

    :param stages: as ``stages_of`` gives them for the same status.
    """
    meaning = _TO_THE_REFUND if status in REFUND_STATUSES else _TO_THE_PAYOUT
    grouped: dict[StepName, list[Stage]] = {}
    for stage in stages:
        if stage.name in meaning:
            grouped.setdefault(meaning[stage.name], []).append(stage)
    return tuple(_step(name, group) for name, group in grouped.items())


def _step(name: StepName, group: Sequence[Stage]) -> Step:
    """Of its stages the last says whether the step is done; one that is current makes it current."""
    behind = (Progress.DONE, Progress.SKIPPED)
    if group[-1].progress in behind:
        return Step(name, Progress.DONE, max((stage.at for stage in group if stage.at), default=None))
    current = any(stage.progress is Progress.CURRENT for stage in group)
    return Step(name, Progress.CURRENT if current else Progress.TO_COME, None)
