"""Clocks that differ are reported, and a slow answer is no difference."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event

from app.db.database import Database
from app.http.application import part_of
from app.monitoring.readiness import EVERY_SECONDS, MOST_SECONDS, ClockSkew, Readiness
from tests.api.shapes import READY, assert_refused
from tests.timer import Timer

pytestmark = pytest.mark.postgresql_alone
"""The database that has a clock of its own."""

AN_HOUR = 3600.0


class Clock:
    """This machine's, moved by some seconds; each look at it takes a while."""

    def __init__(self, ahead: float = 0, takes: float = 0) -> None:
        self.ahead, self._takes = ahead, takes

    def __call__(self) -> datetime:
        now = datetime.now(UTC) + timedelta(seconds=self.ahead)
        self.ahead += self._takes
        return now


@pytest.fixture
def timer() -> Timer:
    return Timer()


def skew(app: Flask, clock: Clock, timer: Timer) -> ClockSkew:
    return ClockSkew(part_of(app, Database).reads, clock, timer)


@pytest.fixture
def statements(database: Database) -> Iterator[list[str]]:
    """What is sent to the database."""
    sent: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        sent.append(statement)

    event.listen(database.reads, "before_cursor_execute", note)
    yield sent
    event.remove(database.reads, "before_cursor_execute", note)


@pytest.mark.parametrize("ahead", [-AN_HOUR, -MOST_SECONDS - 1, MOST_SECONDS + 1, AN_HOUR])
def test_differing_clocks_are_reported(app: Flask, timer: Timer, ahead: float) -> None:
    measured = skew(app, Clock(ahead), timer)
    assert measured.seconds() == pytest.approx(-ahead, abs=0.9)
    word = "behind" if ahead > 0 else "ahead of"
    seconds = f"{abs(measured.seconds()):.0f}"
    assert measured.complaint() == (
        f"clocks: the database's is {seconds} s {word} this machine's; check NTP on both"
    )


@pytest.mark.parametrize("ahead", [0, MOST_SECONDS - 1, 1 - MOST_SECONDS])
def test_small_differences_are_accepted(app: Flask, timer: Timer, ahead: float) -> None:
    assert skew(app, Clock(ahead), timer).complaint() is None


def test_slow_answer_is_not_skew(app: Flask, timer: Timer) -> None:
    """The server may have looked at any moment of the minute that this took."""
    for ahead in (0, -30, -59):
        measured = skew(app, Clock(ahead, takes=60), timer)
        assert (measured.complaint(), measured.seconds()) == (None, 0)
    assert skew(app, Clock(-60 - AN_HOUR, takes=60), timer).seconds() == pytest.approx(AN_HOUR, abs=0.9)
    assert skew(app, Clock(AN_HOUR, takes=60), timer).seconds() == pytest.approx(-AN_HOUR, abs=0.9)


def test_clock_skew_check_runs_once_a_period(app: Flask, timer: Timer, statements: list[str]) -> None:
    """Every few seconds."""
    clock = Clock()
    measured = skew(app, clock, timer)
    assert measured.complaint() is None
    statements.clear()
    clock.ahead = AN_HOUR
    timer.now += EVERY_SECONDS
    assert measured.complaint() is None
    assert statements == []
    timer.now += 0.1
    assert measured.complaint() is not None
    assert len(statements) == 1
    clock.ahead = 0
    timer.now += EVERY_SECONDS + 0.1
    assert measured.complaint() is None


def test_not_ready_while_the_clocks_differ(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    look: Any = part_of(app, Readiness)._look
    of_gateway = look.args[2]
    assert client.get("/readyz").status_code == 200
    monkeypatch.setattr(of_gateway, "_clock", Clock(AN_HOUR))
    monkeypatch.setattr(of_gateway, "_measured", None)
    message = assert_refused(client.get("/readyz"), 503, "unavailable", READY)
    assert message.startswith("clocks: the database's is 3600 s behind")
    assert client.get("/healthz").status_code == 200
