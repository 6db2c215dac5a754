"""Databases that are ready at once: copies of one that was migrated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
from sqlalchemy.engine import make_url

from bench.database import Database, gateway_on, postgres_server

TEMPLATE = "migrated"


@dataclass(slots=True)
class Cluster:
    """One server with many databases."""

    server: Database
    made: int = field(default=0)

    def empty(self) -> str:
        """The URL of a new database without tables."""
        return self._create("")

    def migrated(self) -> str:
        """The URL of a new database with the gateway's tables."""
        return self._create(f"TEMPLATE {TEMPLATE}")

    def named(self, name: str) -> str:
        """The URL of a database of the server."""
        return make_url(self.server.url).set(database=name).render_as_string(hide_password=False)

    def _create(self, how: str) -> str:
        self.made += 1
        name = f"bench_{self.made}"
        self.run(f"CREATE DATABASE {name} {how}")
        return self.named(name)

    def run(self, statement: str) -> None:
        """Execute a statement in the server's own database."""
        with psycopg.connect(plain(self.server.url), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]


def plain(url: str) -> str:
    """The URL as libpq and other languages' drivers take it."""
    return url.replace("postgresql+psycopg:", "postgresql:")


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A server of this run's own; everything is thrown away afterwards."""
    with postgres_server() as server:
        made = Cluster(server)
        made.run(f"CREATE DATABASE {TEMPLATE}")
        with gateway_on(made.named(TEMPLATE)):
            pass
        yield made
