"""Loads the sandbox, all or nothing, and refreshes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

import orjson
from sqlalchemy import Connection

from app.audit.keys import AuditKeys
from app.audit.records import SANDBOX_LOADED, Actor
from app.audit.services import record, record_separately
from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.services.ingest import Intake, ingest_lines, ingest_within
from app.feed.services.posts import IngestResult
from app.latency.queries import newest_release
from app.network.changes import audited
from app.network.document import import_within, read_document
from app.sandbox.catalogue import network_document
from app.sandbox.feed import fresh_events, sandbox_events
from app.transfers.queries.logged import first_reporter, is_empty

REPORTER = "sandbox"
"""The reporter of every event of the sandbox, by which a sandbox database is recognised."""

STALE_AFTER = timedelta(days=1)


class SandboxRefused(Exception):
    """The database holds something that is not the sandbox's."""


def is_sandbox(connection: Connection) -> bool:
    """Whether the data are the sandbox's: its first event is of the sandbox."""
    return first_reporter(connection) == REPORTER


def load_sandbox(database: Database, audit_keys: AuditKeys, intake: Intake, *, actor: Actor) -> str:
    """Load the sandbox into an empty database and report what was loaded.

    :raises SandboxRefused: when the database holds anything.
    """
    with writing(database.engine) as connection:
        if not is_empty(connection):
            raise SandboxRefused(
                "the database is not empty: set DATABASE_URL to a new database to load the sandbox"
            )
        now = database.clock()
        changes = import_within(connection, read_document(orjson.dumps(network_document())), now)
        verdict = ingest_within(connection, database, intake, _lines(sandbox_events(now)), REPORTER)
        _expect_all_taken(verdict)
        loaded = f"sandbox loaded: {verdict.accepted} events"
        record(
            connection, audit_keys, actor, SANDBOX_LOADED, "sandbox",
            now=now, detail=loaded, changes=audited(changes),
        )  # fmt: skip
    return loaded


def ensure_sandbox(database: Database, audit_keys: AuditKeys, intake: Intake, *, actor: Actor) -> str:
    """Load the sandbox into an empty database, refresh an old sandbox, and leave other data unchanged."""
    with reading(database.reads) as connection:
        empty, ours = is_empty(connection), is_sandbox(connection)
        newest = newest_release(connection)
    if empty:
        return load_sandbox(database, audit_keys, intake, actor=actor)
    now = database.clock()
    if not ours or newest is None or now - newest <= STALE_AFTER:
        return (
            ("sandbox is up to date")
            if ours
            else "the database has data of its own; the sandbox was not loaded"
        )
    verdict = ingest_lines(database, intake, _lines(fresh_events(now, newest)), REPORTER)
    _expect_all_taken(verdict)
    freshened = f"sandbox refreshed: {verdict.accepted} events"
    record_separately(database, audit_keys, actor, "sandbox.freshen", "sandbox", detail=freshened)
    return freshened


def _lines(events: Iterable[dict[str, object]]) -> Iterator[bytes]:
    return map(orjson.dumps, events)


def _expect_all_taken(verdict: IngestResult) -> None:
    if verdict.refused:
        raise RuntimeError(f"the sandbox contradicts the gateway: {verdict.refused[0]}")
