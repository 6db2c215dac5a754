"""Checks at the start whether the database, or a pooler in front of it, has enough connections.

Only what can be read is compared. The start goes on in any case (docs/scaling.md#connections).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from app.db.database import PROCESS_CONNECTIONS, READ_CONNECTIONS, Database
from app.db.engine import is_pooled, reading
from app.db.pooler import leads_through_pooler
from app.db.timeouts import within

SECONDS: Final = 1.0
"""How long to wait for a server. The gateway can start without this check."""

OTHER_PROCESSES: Final = 2
"""Of a machine, beside its workers: one ``watch`` and one ``deliver``."""

_NO_LIMIT: Final = -1
_CONSOLE_OF_POOLER: Final = "pgbouncer"
"""The name of the database in which PgBouncer answers about itself, to its ``stats_users``."""

_LIMITS: Final = sa.text("""
SELECT (SELECT setting::int FROM pg_settings WHERE name = 'max_connections') AS most,
       (SELECT sum(setting::int) FROM pg_settings
        WHERE name = 'superuser_reserved_connections'
           OR name = 'reserved_connections' AND NOT EXISTS (
               SELECT FROM pg_roles
               WHERE rolname = 'pg_use_reserved_connections' AND pg_has_role(session_user, oid, 'USAGE')
           )) AS reserved,
       quote_ident(role.rolname) AS role, role.rolsuper AS is_superuser, role.rolconnlimit AS of_role,
       quote_ident(current_database()) AS database,
       (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS of_database
FROM pg_roles AS role WHERE role.rolname = session_user
""")

_GUIDE: Final = "docs/scaling.md#connections"

_log = logging.getLogger(__name__)


class Limit(Struct, frozen=True):
    """A number of connections that is set somewhere.

    :param setting: how to set another one, which the number follows.
    :param most: the number that is set.
    :param reserved: how many of these are for others.
    """

    setting: str
    most: int
    reserved: int = 0

    @property
    def left(self) -> int:
        return self.most - self.reserved

    def to_set(self, needed: int) -> str:
        """The setting for so many connections, in words for the operator."""
        return f"{self.setting} {needed + self.reserved} (now {self.most})"


class _Pooler(Struct, frozen=True):
    """What a pooler says of itself.

    :param clients: limits of the connections to it.
    :param servers: how many it opens to PostgreSQL for this database and role.
    """

    clients: Sequence[Limit]
    servers: int


class Allowed(Struct, frozen=True):
    """How many workers of a machine a server has connections for, with its ``watch`` and ``deliver``."""

    workers: int
    connections: int
    server: str


def workers_allowed(database: Database) -> Allowed | None:
    """The workers that the scarcest server allows; None if no server has a limit."""
    found = []
    for name, engine, each in _servers(database):
        seen = _connections(engine)
        if seen is None:
            continue
        through_pooler, limits = seen
        pooler = _pooler(engine) if through_pooler else None
        counts: Sequence[Limit] = pooler.clients if pooler else [] if through_pooler else limits
        server = f"the pooler of {name}" if through_pooler else name
        found += [Allowed(limit.left // each - OTHER_PROCESSES, limit.left, server) for limit in counts]
    return min(found, key=lambda allowed: allowed.workers, default=None)


def check_connections(database: Database, workers: int | None = None) -> None:
    """Log a line for each server that allows fewer connections than may be opened.

    :param workers: of gunicorn on this machine; one ``watch`` and one ``deliver`` are counted with them. None
        counts this process only.
    """
    for complaint in connection_complaints(database, workers):
        _log.warning("%s", complaint)


def connection_complaints(database: Database, workers: int | None = None) -> Iterator[str]:
    """The limits that allow too few connections, and what to set, in words for the operator.

    :param workers: as above.
    """
    for name, engine, each in _servers(database):
        yield from _complaints(name, engine, each, workers)


def _servers(database: Database) -> Iterator[tuple[str, Engine, int]]:
    """Each server that limits connections: its name, and how many a process opens to it."""
    replica = database.public.replica
    servers = [("the database", database.reads, PROCESS_CONNECTIONS)]
    if replica is not None:
        servers.append(("the replica", replica.engine, READ_CONNECTIONS))
    return (server for server in servers if server[1].dialect.name == "postgresql")


def _connections(engine: Engine) -> tuple[bool, list[Limit]] | None:
    """Whether a pooler is in front of the server, and what the server allows; None where it does not
    answer.
    """
    try:
        with within(SECONDS), reading(engine) as connection:
            return is_pooled(engine) or leads_through_pooler(connection), _limits_of_server(connection)
    except SQLAlchemyError:
        return None


def _complaints(name: str, engine: Engine, each: int, workers: int | None) -> Iterator[str]:
    if (seen := _connections(engine)) is None:
        return
    through_pooler, limits = seen
    needed = each if workers is None else each * (workers + OTHER_PROCESSES)
    who = f"{workers} worker{'' if workers == 1 else 's'}, watch and deliver open"
    if workers is None:
        each, who = 0, "this process opens"
    if not through_pooler:
        yield from _complaint(name, who, needed, limits, each)
    elif (pooler := _pooler(engine)) is not None:
        yield from _complaint(f"the pooler of {name}", who, needed, pooler.clients, each)
        yield from _complaint(name, "the pooler opens", pooler.servers, limits)


def _complaint(name: str, who: str, needed: int, limits: Sequence[Limit], each: int = 0) -> Iterator[str]:
    """
    :param who: opens so many.
    :param each: connections of a process, where fewer workers would help.
    """
    if not (short := [limit for limit in limits if limit.left < needed]):
        return
    least = min(limit.left for limit in short)
    set_these = " and ".join(limit.to_set(needed) for limit in short)
    workers = least // each - OTHER_PROCESSES if each else 0
    instead = f", or WEB_CONCURRENCY={workers}" if workers > 0 else ""
    yield (
        f"{name} allows {least} connections, and {who} up to {needed}: set {set_these}{instead} ({_GUIDE})"
    )


def _limits_of_server(connection: Connection) -> list[Limit]:
    row = connection.execute(_LIMITS).one()
    if row.most is None:  # another database that speaks PostgreSQL's protocol
        return []
    if row.is_superuser:  # the others are not for them
        return [Limit("max_connections =", row.most)]
    found = [Limit("max_connections =", row.most, row.reserved or 0)]
    for kind, name, most in (("ROLE", row.role, row.of_role), ("DATABASE", row.database, row.of_database)):
        if most != _NO_LIMIT:
            found.append(Limit(f"ALTER {kind} {name} CONNECTION LIMIT", most))
    return found


def _pooler(engine: Engine) -> _Pooler | None:
    """What PgBouncer says of itself; None where it is another pooler, or the role may not look."""
    driver = engine.dialect.loaded_dbapi
    _, params = engine.dialect.create_connect_args(engine.url.set(database=_CONSOLE_OF_POOLER))
    try:
        with closing(driver.connect(**{**params, "autocommit": True, "connect_timeout": 2})) as connection:
            config = {row["key"]: row["value"] for row in _shown(connection, "SHOW CONFIG")}
            databases = {row["name"]: row for row in _shown(connection, "SHOW DATABASES")}
        return _described(config, databases[engine.url.database])
    except (driver.Error, KeyError, TypeError, ValueError):
        return None


def _described(config: Mapping[str, str], database: Mapping[str, Any]) -> _Pooler:
    reserve = database.get("reserve_pool", database.get("reserve_pool_size", 0))  # its name since 1.23
    pool = int(database["pool_size"]) + int(reserve)
    others = (int(database["max_connections"]), int(config["max_user_connections"]))  # 0 is no limit
    clients = [Limit("max_client_conn =", int(config["max_client_conn"]))]
    servers = min([pool, *(number for number in others if number)])
    if (database["pool_mode"] or config["pool_mode"]) == "session":  # each client takes one of them
        clients.append(Limit("default_pool_size =", servers))
    return _Pooler(clients, servers)


def _shown(connection: Any, statement: str) -> list[dict[str, Any]]:
    cursor = connection.execute(statement)
    names = [column.name for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
