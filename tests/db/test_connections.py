"""The connections that a process opens, what the start reports of fewer, and the documented sums."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.db.connections import OTHER_PROCESSES, check_connections, connection_complaints, workers_allowed
from app.db.database import (
    CONSOLE_CONNECTIONS,
    FEED_CONNECTIONS,
    PROCESS_CONNECTIONS,
    READ_CONNECTIONS,
    Database,
)
from app.db.timeouts import within
from app.http.application import part_of
from serving.workers import Workers, within_database
from tests.applications import application
from tests.databases import new_postgres_database, run_on
from tests.postgres import postgres_server
from tests.site.snippets import block_of

SCALING = Path(__file__).parents[2] / "docs" / "scaling.md"
ROLE = "few_connections"
WARNING = block_of("docs/scaling.md", "the database allows")
RUN = [WARNING]


@pytest.fixture
def limited(postgres_server: str) -> Iterator[str]:
    """A database, and a role that is no superuser and may open 30 connections; its URL."""
    url = new_postgres_database(postgres_server)
    run_on(url, f"CREATE ROLE {ROLE} LOGIN CONNECTION LIMIT 30")
    yield make_url(url).set(username=ROLE).render_as_string(hide_password=False)
    run_on(postgres_server, f'DROP DATABASE "{make_url(url).database}" WITH (FORCE)', f"DROP ROLE {ROLE}")


@pytest.fixture
def allowed(postgres_server: str) -> int:
    """Connections that the server has for others than superusers."""
    engine = create_engine(postgres_server)
    with engine.connect() as connection:
        most, reserved = (
            int(connection.scalar(text(f"SHOW {name}")) or 0)
            for name in ("max_connections", "superuser_reserved_connections")
        )
    engine.dispose()
    return most - reserved


@pytest.fixture
def few(limited: str) -> Iterator[Database]:
    with application(limited) as app:
        yield part_of(app, Database)


def test_process_opens_at_most_documented(few: Database) -> None:
    pools = {few.reads: READ_CONNECTIONS, few.engine: CONSOLE_CONNECTIONS, few.feed: FEED_CONNECTIONS}
    assert pools.keys() == set(few.engines)
    assert sum(pools.values()) == PROCESS_CONNECTIONS <= 8
    with ExitStack() as stack:
        for engine, most in pools.items():
            for _ in range(most):
                stack.enter_context(engine.connect())
            with within(0.05), pytest.raises(PoolTimeout):
                engine.connect()


def test_connection_is_returned_without_time(few: Database) -> None:
    for engine, level in ((few.reads, "REPEATABLE READ"), (few.engine, "AUTOCOMMIT")):
        for _ in range(PROCESS_CONNECTIONS):
            connection = engine.connect().execution_options(isolation_level=level)
            connection.execute(text("SELECT 1"))
            connection.commit()
            with within(0):
                connection.close()


def test_role_limit_bounds_workers(few: Database) -> None:
    """30 connections: 8 for each of one worker, ``watch`` and ``deliver``."""
    allowed = workers_allowed(few)
    assert allowed is not None
    assert (allowed.workers, allowed.connections, allowed.server) == (1, 30, "the database")
    assert within_database(Workers(4, "there are 4 cores"), few) == Workers(
        1, "the database allows 30 connections"
    )
    assert within_database(Workers(1, "so"), few) == Workers(1, "so")


def test_reserved_connections_bound_workers(postgres_url: str, allowed: int) -> None:
    """The role is a superuser here: the server's number as a whole."""
    with application(postgres_url) as app:
        found = workers_allowed(part_of(app, Database))
    assert found is not None
    assert allowed <= found.connections
    assert found.workers == found.connections // PROCESS_CONNECTIONS - OTHER_PROCESSES


def test_one_worker_starts_without_connections(few: Database) -> None:
    run_on(owner_of(few), f"ALTER ROLE {ROLE} CONNECTION LIMIT 9")
    assert within_database(Workers(2, "so"), few).number == 1


def test_unlimited_database_bounds_no_workers(tmp_path: Path) -> None:
    """SQLite, and a server that does not answer."""
    for url in (f"sqlite:///{tmp_path}/none.db", "postgresql+psycopg://nobody@127.0.0.1:1/none"):
        with application(url) as app:
            assert workers_allowed(part_of(app, Database)) is None


def owner_of(database: Database) -> str:
    """The URL of the database for its owner."""
    return database.engine.url.set(username="postgres").render_as_string()


def test_role_with_too_few_is_reported(few: Database, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        check_connections(few, 2)
    (line,) = [
        record.getMessage() for record in caplog.records if record.name == check_connections.__module__
    ]
    needed = PROCESS_CONNECTIONS * (2 + OTHER_PROCESSES)
    assert line == (
        f"the database allows 30 connections, and 2 workers, watch and deliver open up to {needed}: set "
        f"ALTER ROLE {ROLE} CONNECTION LIMIT {needed} (now 30), or WEB_CONCURRENCY=1 "
        "(docs/scaling.md#connections)"
    )


def test_enough_connections_are_not_mentioned(few: Database) -> None:
    assert list(connection_complaints(few, 1)) == []
    assert list(connection_complaints(few)) == []


def test_server_with_too_few_is_reported(few: Database, allowed: int) -> None:
    run_on(owner_of(few), f"ALTER ROLE {ROLE} CONNECTION LIMIT -1")
    workers = allowed // PROCESS_CONNECTIONS - OTHER_PROCESSES
    assert list(connection_complaints(few, workers)) == []
    (line,) = connection_complaints(few, workers + 1)
    needed = PROCESS_CONNECTIONS * (workers + 1 + OTHER_PROCESSES)
    assert f"allows {allowed} connections" in line
    assert f"set max_connections = {needed + 3} (now {allowed + 3}), or WEB_CONCURRENCY={workers} (" in line


def test_database_with_too_few_is_reported(few: Database) -> None:
    name = few.engine.url.database
    run_on(owner_of(few), f'ALTER DATABASE "{name}" CONNECTION LIMIT 5')
    (line,) = connection_complaints(few)
    assert line.startswith("the database allows 5 connections, and this process opens up to ")
    assert f"set ALTER DATABASE {name} CONNECTION LIMIT {PROCESS_CONNECTIONS} (now 5) (" in line


@pytest.mark.postgresql
def test_reserved_connections_are_subtracted() -> None:
    """PostgreSQL has them from 16 on."""
    settings = {"max_connections": "40", "superuser_reserved_connections": "2", "reserved_connections": "15"}
    with postgres_server(settings) as server:
        run_on(server.url, f"CREATE ROLE {ROLE} LOGIN")
        with application(server.url.replace("//postgres:@", f"//{ROLE}@")) as app:
            database = part_of(app, Database)
            needed = PROCESS_CONNECTIONS * (1 + OTHER_PROCESSES)
            (line,) = connection_complaints(database, 1)
            assert f"allows 23 connections, and 1 worker, watch and deliver open up to {needed}: " in line
            assert f"set max_connections = {needed + 17} (now 40) (" in line
            run_on(server.url, f"GRANT pg_use_reserved_connections TO {ROLE}")
            assert list(connection_complaints(database, 1)) == []


@pytest.mark.postgresql
def test_stock_server_gives_documented_warning() -> None:
    with postgres_server({"max_connections": "100"}) as server:
        run_on(server.url, f"CREATE ROLE {ROLE} LOGIN")
        with application(server.url.replace("//postgres:@", f"//{ROLE}@")) as app:
            assert list(connection_complaints(part_of(app, Database), 16)) == [WARNING.code]


def test_unreachable_database_gives_no_complaint() -> None:
    with application("postgresql+psycopg://nobody@127.0.0.1:1/none") as app:
        assert list(connection_complaints(part_of(app, Database), 8)) == []


def rows_of_scaling_table(first_cell: str) -> list[list[str]]:
    """The rows under the head of the table that begins so."""
    table = SCALING.read_text("utf-8").partition(f"| {first_cell} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_scaling_page_lists_connections_of_code() -> None:
    figures = [tuple(map(int, row[1:])) for row in rows_of_scaling_table("connections of a process")]
    # per process: (to primary, to replica)
    assert figures == [
        (READ_CONNECTIONS, READ_CONNECTIONS),
        (CONSOLE_CONNECTIONS, 0),
        (FEED_CONNECTIONS, 0),
        (PROCESS_CONNECTIONS, READ_CONNECTIONS),
    ]


def test_documented_sum_of_machines_is_right() -> None:
    page = SCALING.read_text("utf-8")
    example = re.search(r"(\d+) machines with (\d+) workers each, (\d+)", page)
    assert example
    machines, workers, most = map(int, example.groups())
    assert most == machines * PROCESS_CONNECTIONS * (workers + OTHER_PROCESSES)
    formula = re.search(r"`(\d+) \* \(workers \+ (\d+)\)`", page)
    assert formula and (int(formula[1]), int(formula[2])) == (PROCESS_CONNECTIONS, OTHER_PROCESSES)
