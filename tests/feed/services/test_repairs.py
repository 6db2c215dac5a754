"""How much of what differs is repaired at once."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Connection, delete

from app.db.database import Database
from app.db.engine import writing
from app.estimates.models import PoolVolume
from app.feed.services.reprojection import replay
from app.feed.verifying import run
from app.transfers.models import TrendCount
from tests.actors import TESTER
from tests.applications import Audited
from tests.feed.services.everything import everything
from tests.feed.services.world import feed, sent


def test_lock_is_released_between_sums(
    app: Flask, database: Database, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool has a volume for each minute of years, and all of them may be missing."""
    monkeypatch.setattr(run, "ROWS_AT_ONCE", 2)
    at_once: dict[type[Any], list[int]] = {}
    repair = run.repair

    def repaired(connection: Connection, model: type[Any], found: list[Any], *args: Any, **more: Any) -> Any:
        at_once.setdefault(model, []).append(len(found))
        return repair(connection, model, found, *args, **more)

    monkeypatch.setattr(run, "repair", repaired)
    feed(app, *(sent(n, at=-86_400 * n) for n in range(1, 6)))
    before = everything(database)
    with writing(database.engine) as connection:
        connection.execute(delete(PoolVolume))
        connection.execute(delete(TrendCount))
    replay(*audited, actor=TESTER)
    assert at_once == {PoolVolume: [2, 2, 1], TrendCount: [2] * 5}
    assert everything(database) == before
