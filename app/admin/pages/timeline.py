"""A transfer's way as its page draws it: each stage with how long it took and the events behind it."""

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

    ``took`` is the time since the last stage before it that was told of. ``lasting`` is how long the
    transfer has been waiting for it, None but for the stage it is at.
    """

    stage: StageLine
    took: timedelta | None
    lasting: timedelta | None
    events: tuple[EventLine, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The stages in their order; ``others`` are the events that no stage rests on, such as the fallen."""

    stages: tuple[TimelineStage, ...]
    others: tuple[EventLine, ...]


def timeline_of(detail: TransferDetail) -> Timeline:
    """The timeline of a transfer, as of the moment that its detail was read at."""
    told = {event_id for stage in detail.stages for event_id in stage.event_ids}
    others = tuple(line for line in detail.events if not (line.stands and line.event_id in told))
    return Timeline(tuple(_stages(detail)), others)


def _stages(detail: TransferDetail) -> Iterator[TimelineStage]:
    before: datetime | None = None
    for stage in detail.stages:
        events = tuple(line for line in detail.events if line.stands and line.event_id in stage.event_ids)
        # Reporters' clocks differ: a stage before the one that it follows took no time that one could tell.
        took = stage.at - before if stage.at and before and stage.at >= before else None
        since = detail.line.since
        lasting = detail.now - since if stage.progress is Progress.CURRENT and since else None
        yield TimelineStage(stage, took, lasting, events)
        before = stage.at or before
