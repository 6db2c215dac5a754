"""The timeline on the page of a transfer: each stage, how long it took, and the events behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.admin.pages.detail import StageLine, TransferDetail
from app.admin.pages.event_lines import EventLine
from app.domain.transfer.stages import Progress


@dataclass(frozen=True, slots=True)
class TimelineStage:
    """A stage and its standing events.

    ``took`` is the time since the last reported stage before it. ``lasting`` is how long the transfer has
    been at this stage; None for every stage but the current one.
    """

    stage: StageLine
    took: timedelta | None
    lasting: timedelta | None
    events: tuple[EventLine, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The stages in their order. ``others`` are the events of no stage, also those that no longer stand."""

    stages: tuple[TimelineStage, ...]
    others: tuple[EventLine, ...]


def timeline_of(detail: TransferDetail) -> Timeline:
    """The timeline of a transfer at the time at which its detail was read."""
    in_stages = {event_id for stage in detail.stages for event_id in stage.event_ids}
    others = tuple(line for line in detail.events if not (line.stands and line.event_id in in_stages))
    return Timeline(tuple(_stages(detail)), others)


def _stages(detail: TransferDetail) -> Iterator[TimelineStage]:
    before: datetime | None = None
    for stage in detail.stages:
        events = tuple(line for line in detail.events if line.stands and line.event_id in stage.event_ids)
        # Clocks of reporters differ: a stage may have a time before that of the stage it follows.
        took = stage.at - before if stage.at and before and stage.at >= before else None
        since = detail.line.since
        lasting = detail.now - since if stage.progress is Progress.CURRENT and since else None
        yield TimelineStage(stage, took, lasting, events)
        before = stage.at or before
