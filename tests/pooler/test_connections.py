"""What the start reports where a pooler, or the server behind it, has too few connections."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import make_url

from app.db.connections import connection_complaints
from app.db.database import PROCESS_CONNECTIONS, Database
from app.http.application import part_of
from tests.applications import application
from tests.databases import run_on
from tests.pooler.bouncer import Bouncer, bouncing

pytestmark = pytest.mark.system

CLIENTS = 2000
"""Connections to the pooler, as it is shipped."""

POOL = 12
"""Those that it opens to the server, in these tests."""


def complaints(url: str, workers: int, *, pooled: bool = True) -> list[str]:
    with application(url, database_pooler=pooled) as app:
        return list(connection_complaints(part_of(app, Database), workers))


@pytest.fixture
def few_for_the_role(roles: str) -> Iterator[None]:
    run_on(roles, f"ALTER ROLE gateway CONNECTION LIMIT {POOL - 1}")
    yield
    run_on(roles, "ALTER ROLE gateway CONNECTION LIMIT -1")


def test_enough_connections_are_accepted(bouncer: Bouncer, database: str) -> None:
    workers = CLIENTS // PROCESS_CONNECTIONS - 2
    assert complaints(bouncer.url(database), workers) == []


def test_pooler_with_too_few_clients_is_reported(bouncer: Bouncer, database: str) -> None:
    workers = CLIENTS // PROCESS_CONNECTIONS - 1
    (line,) = complaints(bouncer.url(database), workers)
    needed = PROCESS_CONNECTIONS * (workers + 2)
    assert line.startswith(f"the pooler of the database allows {CLIENTS} connections, and {workers} workers")
    assert f"set max_client_conn = {needed} (now {CLIENTS}), or WEB_CONCURRENCY={workers - 1} " in line


def test_server_below_pool_size_is_reported(bouncer: Bouncer, database: str, few_for_the_role: None) -> None:
    (line,) = complaints(bouncer.url(database), 1)
    assert f"the database allows {POOL - 1} connections, and the pooler opens up to {POOL}: " in line
    assert f"set ALTER ROLE gateway CONNECTION LIMIT {POOL} (now {POOL - 1}) " in line


def test_session_pooler_needs_connection_each(roles: str, database: str) -> None:
    with bouncing(roles, mode="session", size=POOL) as bouncer:
        (line,) = complaints(bouncer.url(database), 2, pooled=False)
    assert f"set default_pool_size = {4 * PROCESS_CONNECTIONS} (now {POOL}) " in line


def test_role_without_rights_gets_no_report(bouncer: Bouncer, database: str) -> None:
    assert make_url(bouncer.url(database, "bare")).username == "bare"
    assert complaints(bouncer.url(database, "bare"), 10_000) == []
