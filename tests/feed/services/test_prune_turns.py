"""Pruning reads a page of transfers and removes them in turns of the writer: what changes meanwhile stays."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Connection, func, select

from app.db.database import Database
from app.db.engine import reading
from app.feed.models import PrunedEvent
from app.feed.services import prune as prune_services
from app.feed.services.ingest import Intake
from app.feed.services.prune import prune
from app.feed.services.remove import Remains, remains_of
from tests.actors import TESTER
from tests.applications import Audited, change_part
from tests.feed.services.pruning import LATER, pruned_ids
from tests.feed.services.world import about, event, feed, id_of, released, sent


@pytest.fixture
def app(app: Flask) -> Flask:
    """A month after what the tests report."""
    change_part(app, Database, clock=lambda: LATER)
    return app


def reports_meanwhile(app: Flask, monkeypatch: pytest.MonkeyPatch, *events: dict[str, Any]) -> list[object]:
    """Report events once, after a page was read and before the writer's turn. Returns a list of the pages."""
    read: list[object] = []

    def read_remains(connection: Connection, ids: Collection[bytes]) -> dict[bytes, Remains]:
        found = remains_of(connection, ids)
        if found and not read:
            feed(app, *events)
        read.extend([found] if found else [])
        return found

    monkeypatch.setattr(prune_services, "remains_of", read_remains)
    return read


def test_transfer_changed_before_turn_stays(
    app: Flask, database: Database, intake: Intake, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(app, sent(1), released(1), sent(2), released(2))
    reports_meanwhile(app, monkeypatch, about(1, "transfer.confirmed", at=-60))
    found = prune(*audited, intake, LATER, actor=TESTER)
    assert (found.transfers.total(), found.events) == (1, 2)
    assert pruned_ids(database) == {id_of(2)}
    assert prune(*audited, intake, LATER, actor=TESTER).events == 3
    with reading(database.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(PrunedEvent)) == 5


def test_page_is_reread_after_reorg(
    app: Flask, intake: Intake, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(app, sent(1), released(1))
    reorg = event("chain.reorged", at=0, chain_id=3, from_block=10**9)
    read = reports_meanwhile(app, monkeypatch, reorg)
    found = prune(*audited, intake, LATER, actor=TESTER)
    assert found.transfers.total() == 1
    assert len(read) == 2


def between_turns(app: Flask, monkeypatch: pytest.MonkeyPatch, *events: dict[str, Any]) -> list[int]:
    """Have each turn take one transfer, and report events after the first. Returns a list of turns."""
    turns: list[int] = []

    def after(_pace: object, transfers: int, _seconds: float) -> None:
        turns.append(transfers)
        if len(turns) == 1:
            feed(app, *events)

    monkeypatch.setattr(prune_services, "FIRST", 1)
    monkeypatch.setattr(prune_services.Pace, "after", after)
    return turns


def test_rest_is_reread_after_reorg(
    app: Flask, intake: Intake, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reaches the payout of a transfer of the page, which is not finished then."""
    reported = [each for n in (1, 2) for each in (sent(n, block=n), released(n, block=n, at=n - 60))]
    feed(app, *reported)
    turns = between_turns(app, monkeypatch, event("chain.reorged", at=0, chain_id=2, from_block=2))
    looked: list[int] = []
    found = prune(*audited, intake, LATER, actor=TESTER, progress=looked.append)
    assert (found.transfers.total(), turns) == (1, [1])
    assert sum(looked) == 1


def test_prune_turn_size_follows_duration() -> None:
    pace = prune_services.Pace()
    for _ in range(20):
        pace.after(pace.transfers, pace.transfers * 0.0002)
    assert 400 < pace.transfers <= 500, "0.2 ms each"
    pace.after(pace.transfers, 60)
    assert pace.transfers > 200, "one slow turn changes little"
    for _ in range(20):
        pace.after(pace.transfers, 60)
    assert pace.transfers == prune_services.FEWEST
    for _ in range(20):
        pace.after(pace.transfers, 0)
    assert pace.transfers == prune_services.MOST
