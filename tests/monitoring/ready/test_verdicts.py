"""Readiness under load: a database that answers other requests is there, one that answers nobody is not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.monitoring.readiness import READY_SECONDS
from app.network.services import RETRY_SECONDS
from tests.amounts import few_or_many
from tests.serving.watched import watched

CALLERS = 150


def hold_all(app: Flask, stack: ExitStack) -> None:
    """Take every connection of public reads, as requests do under load."""
    database = part_of(app, Database)
    size = database.reads.pool.size()  # type: ignore[attr-defined]
    for _ in range(size):
        stack.enter_context(reading(database.reads))


@contextmanager
def answering(database: Database) -> Iterator[None]:
    """While the database answers others."""
    over = Event()

    def work() -> None:
        while not over.wait(READY_SECONDS / 10):
            with database.feed.connect() as connection:
                connection.execute(text("SELECT 1"))

    busy = Thread(target=work)
    busy.start()
    try:
        yield
    finally:
        over.set()
        busy.join()


@pytest.mark.postgresql_alone
def test_ready_with_busy_connections_and_answers(app: Flask, client: FlaskClient, database: Database) -> None:
    assert client.get("/readyz").status_code == 200
    with answering(database), ExitStack() as stack:
        hold_all(app, stack)
        for _ in range(2):
            began = time.monotonic()
            assert client.get("/readyz").status_code == 200
            assert time.monotonic() - began < READY_SECONDS + 2


@pytest.mark.postgresql_alone
def test_not_ready_before_the_first_look(app: Flask, client: FlaskClient, database: Database) -> None:
    """That the database answers others proves nothing of its schema."""
    with answering(database):
        with ExitStack() as stack:
            hold_all(app, stack)
            assert client.get("/readyz").status_code == 503
        assert client.get("/readyz").status_code == 200


@pytest.mark.postgresql_alone
def test_not_ready_with_busy_silent_database(app: Flask, client: FlaskClient) -> None:
    """All connections are busy, and no request is answered."""
    assert client.get("/readyz").status_code == 200
    with ExitStack() as stack:
        hold_all(app, stack)
        answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.get_json()["err"]["msg"].startswith("the database cannot be reached")
    time.sleep(RETRY_SECONDS)
    assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize("seconds", few_or_many(1, 20))
@pytest.mark.postgresql_alone
def test_overloaded_server_is_ready(tmp_path: Path, database_url: str, seconds: int) -> None:
    with watched(tmp_path / "log", DATABASE_URL=database_url) as running:
        over, answers = Event(), []

        def call() -> None:
            connection = HTTPConnection("127.0.0.1", running.server.port, timeout=60)
            while not over.is_set():
                connection.request("GET", "/v2/getTransfer?tx_hash=0x" + "ab" * 32)
                response = connection.getresponse()
                response.read()
                answers.append(response.status)

        callers = [Thread(target=call) for _ in range(CALLERS)]
        for caller in callers:
            caller.start()
        end, checks = time.monotonic() + seconds, []
        while time.monotonic() < end:
            began = time.monotonic()
            checks.append(
                (running.request(running.health, "/readyz", timeout=20)[0], time.monotonic() - began)
            )
            time.sleep(0.2)
        over.set()
        for caller in callers:
            caller.join()
    refused = sum(status >= 500 for status in answers)
    slowest = max(seconds for _, seconds in checks)
    print(f"{len(answers)} requests, {refused} refused; {len(checks)} checks, {slowest:.1f} s at most")
    assert refused < len(answers) / 20
    assert {status for status, _ in checks} == {200}
