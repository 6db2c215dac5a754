"""Backups as docs/operations.md has them: the machine is lost, and no answer is."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.transfers.models import Transfer
from tests.programs import program
from tests.restores.machine import Machine
from tests.restores.rehearsal import (
    answers,
    begin,
    gateway_on,
    is_changed,
    report,
    rest_after_cursor,
    sandbox,
)
from tests.restores.ways import OnlineBackup, PgBackRest, Way, clock_of


@pytest.fixture
def pgbackrest(debian: Machine) -> Way:
    program("pgbackrest")
    return PgBackRest(debian)


def rehearse(way: Way) -> None:
    """Back up, go on, lose the machine, restore, and have the feed sent again."""
    lines = sandbox()[1]
    third = len(lines) // 3
    begin(way.url)
    with gateway_on(way.url) as app:
        assert report(app, lines[:third]) == third
    way.back_up()
    with gateway_on(way.url) as app:
        report(app, lines[third : 2 * third])
    way.archive()
    with gateway_on(way.url) as app:
        report(app, lines[2 * third :])  # in no archive yet when the machine is lost
        before = answers(app)
    way.lose()
    way.restore()
    with gateway_on(way.url) as app:
        assert is_changed(app, before), "something is lost as yet"
        again = rest_after_cursor(app, lines)
        assert len(again) == len(lines) - (2 * third if way.keeps_wal else third)
        assert report(app, again) == len(again)
        assert answers(app) == before
        report(app, lines)  # from the beginning, as a reporter does that does not know the cursor's event
        assert answers(app) == before, "what is sent once more counts once"


def test_sqlite_is_restored(tmp_path: Path) -> None:
    rehearse(OnlineBackup(tmp_path))


@pytest.mark.slow
@pytest.mark.system
def test_pgbackrest_is_restored(pgbackrest: Way) -> None:
    rehearse(pgbackrest)


@pytest.mark.slow
@pytest.mark.system
def test_point_in_time_is_restored(pgbackrest: Way) -> None:
    """Harm is done: everything until just before it is restored, and nothing of it."""
    way = pgbackrest
    lines = sandbox()[1]
    begin(way.url)
    way.back_up()
    with gateway_on(way.url) as app:
        report(app, lines)
        before = answers(app)
    moment = clock_of(way)
    with gateway_on(way.url) as app:
        with writing(part_of(app, Database).engine) as connection:
            connection.execute(update(Transfer).values(status=0))
        assert is_changed(app, before)
    way.archive()
    way.lose()
    way.restore(moment)
    with gateway_on(way.url) as app:
        assert answers(app) == before
        assert rest_after_cursor(app, lines) == ()
