"""A database that is reached through PgBouncer, and the role that gives limits to those that read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import make_url

from tests.databases import new_postgres_database, run_on
from tests.pooler.bouncer import Bouncer, bouncing
from tests.programs import program

LIMITS = {
    "TimeZone": "UTC",
    "statement_timeout": "20s",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "60s",
    "jit": "off",
}
"""What deploy/postgres/roles.sql sets for the gateway's role."""


@pytest.fixture(scope="session")
def roles(postgres_server: str) -> str:
    """The server with two roles: one as the documentation has it, one as it was made; its URL."""
    program("pgbouncer")
    run_on(postgres_server, "CREATE ROLE gateway LOGIN", "CREATE ROLE bare LOGIN")
    run_on(postgres_server, *(f"ALTER ROLE gateway SET {name} = '{value}'" for name, value in LIMITS.items()))
    return postgres_server


@pytest.fixture(scope="module")
def bouncer(roles: str) -> Iterator[Bouncer]:
    """In transaction mode."""
    with bouncing(roles) as running:
        yield running


@pytest.fixture
def database(roles: str) -> Iterator[str]:
    """A database with nothing in it, that the role may migrate; its URL past the pooler."""
    url = new_postgres_database(roles)
    run_on(roles, f'ALTER DATABASE "{make_url(url).database}" OWNER TO gateway')
    run_on(url, "GRANT CREATE ON SCHEMA public TO gateway", "GRANT gateway TO bare")
    yield url
    run_on(roles, f'DROP DATABASE "{make_url(url).database}" WITH (FORCE)')
