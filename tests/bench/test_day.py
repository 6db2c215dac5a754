"""The day of load that ``bench.world`` replays: its shape, and that the feed takes it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from sqlalchemy import func, select

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.ingest import Intake, ingest_lines
from app.network.document import import_network
from app.transfers.models import Transfer
from app.values.codes import TransferHistoryStatus as Status
from bench import day
from tests.actors import TESTER
from tests.applications import Editing

MIDNIGHT = datetime(2026, 5, 1, tzinfo=UTC)
BURST = 60 * day.BUSIEST


def read(events: list[day.Due]) -> list[dict[str, Any]]:
    return [orjson.loads(each.line) for each in events]


def test_busiest_minute_has_twenty_times_mean() -> None:
    assert sum(day.weights()) == pytest.approx(1)
    mean = day.events_per_second(0, day.MINUTES)
    assert mean == pytest.approx(20_000_000 / 86_400)
    busiest = [day.events_per_second(minute, minute + 1) for minute in range(day.MINUTES)]
    assert max(busiest) == busiest[day.BUSIEST] == pytest.approx(20 * mean)


def test_parts_of_day_equal_the_whole() -> None:
    """Also parts of its transfers."""

    def lines(share: float, first: float, until: float) -> list[bytes]:
        events = day.events_of_day(MIDNIGHT, share, first, until)
        return [each.line for each in events if b'"chain.head"' not in each.line]

    whole = lines(0.004, BURST - 60, BURST + 120)
    assert lines(0.004, BURST - 60, BURST + 30) + lines(0.004, BURST + 30, BURST + 120) == whole
    assert set(lines(0.002, BURST - 60, BURST + 120)) < set(whole)


@pytest.mark.one_database
def test_feed_accepts_all_but_planned_refusals(database: Database, intake: Intake, editing: Editing) -> None:
    import_network(*editing, day.document(), actor=TESTER)
    begin, until = BURST - 10, BURST + 60 + day.LONGEST
    events = day.events_of_day(MIDNIGHT, 0.004, begin, until)
    verdict = ingest_lines(database, intake, [each.line for each in events], "test")
    planned = [number for number, each in enumerate(events, 1) if each.refused]
    assert planned
    assert [each.line for each in verdict.refused] == planned, verdict.refused
    assert (verdict.accepted, verdict.repeated) == (len(events) - len(planned), 0)
    paid = {bytes.fromhex(each.paid[2:]) for each in events if each.paid}
    statuses = select(Transfer.status, func.count()).where(Transfer.transfer_id.in_(paid))
    with reading(database.engine) as connection:
        rows = connection.execute(statuses.group_by(Transfer.status))
        assert dict(iter(rows)) == {Status.TRANSFER_COMPLETED: len(paid)}
