"""The applications of one process. To make one takes 40 ms, with the console 200 ms: they are shared.

What an application knows of a test is in its parts (clock, configuration in memory, counters, keys)
and in its database. Each test gets new parts and an empty database, so nothing of another test is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jinja2.bccache import Bucket, BytecodeCache
from msgspec.structs import replace

from app import create_app
from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services import passwords
from app.audit.keys import AuditKeys
from app.db.database import HINTS_MAX_AGE_SECONDS, CachedReads, Database
from app.db.models import db
from app.db.writes import Writes, writes_of
from app.features import add_features
from app.feed.services.ingest import Intake
from app.http.application import add_part, part_of
from app.values.times import Clock, system_clock
from config import ALL_DOORS, Settings
from tests.databases import SharedDatabase

OpenApp = Callable[..., Flask]

_MADE = "made"
"""Under this name an application has its ``Database`` as it was made, whatever a test replaces."""

Audited = tuple[Database, AuditKeys]
Editing = tuple[Database, AuditKeys, TwoPersons]

CHEAP = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}
"""Argon2id that takes no time: the console's tests verify what they hash themselves."""


FACTS_KEPT_SECONDS = 30
"""So long are facts cached in the shared applications: what their process writes must be seen at once."""


def make_settings(database_url: str, **changes: object) -> Settings:
    """Settings for a test: nothing from the environment, a fresh view of the configuration.

    Without the console, which takes fifty milliseconds to put together: its own tests request it.
    """
    values: dict[str, object] = {
        "doors": ("api", "grpcweb", "ingest"),
        "database_url": database_url,
        "secret_key": "test-only secret key, 32 characters or more",
        "audit_key": "test-only audit key, 32 characters or more",
        "config_max_age_seconds": 0,
        "ingest_tokens": ("test-ingest-token",),
        "estimate_counts_seconds": 0,
    }
    return Settings(**(values | changes))  # type: ignore[arg-type]


@contextmanager
def application(database_url: str, clock: Clock = system_clock, **changes: object) -> Iterator[Flask]:
    """An application that nobody else has, in its context, on any database, for the time of the block.

    :param changes: of the settings of tests.
    """
    app = create_app(make_settings(database_url, **changes), clock=clock)
    with app.app_context():
        try:
            yield app
        finally:
            close_connections()


USUAL: tuple[dict[str, Any], ...] = ({}, {"doors": ALL_DOORS})
"""The changes of the settings that most tests have: none, or with the console."""


@cache
def usual_settings(database_url: str) -> tuple[Settings, ...]:
    """The settings with the changes of ``USUAL``, made once: to make some takes milliseconds."""
    return tuple(make_settings(database_url, **changes) for changes in USUAL)


def _is_usual(settings: Settings) -> bool:
    return settings in usual_settings(settings.database_url)


def close_connections() -> None:
    """Close every connection of the application whose context this is."""
    for engine in db.engines.values():
        engine.dispose()


def renew_parts(app: Flask, clock: Clock) -> None:
    """Replace the parts by ones that have served nothing. Engines and settings stay."""
    settings: Settings = app.config["SETTINGS"]
    made: Database = app.extensions[_MADE]
    engine = made.engine
    seconds = settings.config_max_age_seconds, HINTS_MAX_AGE_SECONDS
    facts, hints = (FACTS_KEPT_SECONDS, FACTS_KEPT_SECONDS) if _is_usual(settings) else seconds
    database = replace(
        made,
        clock=clock,
        cached=CachedReads(facts, writes_of(engine)),
        hints=CachedReads(hints, Writes()),
    )
    add_features(app, settings, database, part_of(app, Intake).counters)


def audited_of(app: Flask) -> Audited:
    """What an operation takes that is recorded."""
    return part_of(app, Database), part_of(app, AuditKeys)


def editing_of(app: Flask) -> Editing:
    """What an edit takes: it is recorded, and may wait for a second person."""
    return *audited_of(app), part_of(app, TwoPersons)


def change_part(app: Flask, kind: type[Database | Intake], **changes: Any) -> None:
    """Have the application hold a part that differs in these fields."""
    add_part(app, kind, replace(part_of(app, kind), **changes))


class CompiledTemplates(BytecodeCache):
    """What the templates of one application compiled to, for all others."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._kept.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code is not None:
            self._kept[bucket.key, bucket.checksum] = bucket.code


COMPILED = CompiledTemplates()


def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Applications made from now on, and commands, hash passwords with ``CHEAP``."""
    options = {f"argon2__{name}": value for name, value in CHEAP.items()}
    monkeypatch.setattr(passwords, "HASHES", passwords.NativeHashes(schemes=["argon2"], **options))


MOST_UNUSUAL = 8
"""So many applications with other settings are used again, those that were used last: the tests of a module
mostly have the same."""


class Applications:
    """Hands out applications. Those on a shared database are used again."""

    def __init__(self) -> None:
        self._shared: set[str] = set()
        self._free: dict[Settings, list[Flask]] = {}
        self._unusual: list[Flask] = []
        self._taken: list[tuple[Flask, bool]] = []

    def opener(
        self,
        shared_database: SharedDatabase,
        clock: Clock = system_clock,
        client_class: type[FlaskClient] = FlaskClient,
    ) -> OpenApp:
        """A function that takes changes of the settings and gives an application on the database.

        Its ``own=True`` makes one for this test only, which changes it (routes, hooks).
        """
        self._shared.add(usual_settings(shared_database.url)[0].database_url)

        def open_app(*, own: bool = False, clock: Clock = clock, **changes: Any) -> Flask:
            url = changes.pop("database_url", shared_database.url)
            usual = changes in USUAL
            settings = usual_settings(url)[USUAL.index(changes)] if usual else make_settings(url, **changes)
            return self._open(settings, clock, client_class, own)

        return open_app

    def _open(self, settings: Settings, clock: Clock, client_class: type[FlaskClient], own: bool) -> Flask:
        """An application that nobody else has in this test."""
        # Metrics count from the start of an application on, and what is known of a replica is its own.
        remembers = settings.metrics_port is not None or settings.database_replica_url
        shared = not own and not remembers and settings.database_url in self._shared
        if app := self._again(settings) if shared else None:
            renew_parts(app, clock)
        else:
            with pytest.MonkeyPatch.context() as monkeypatch:
                cheap_passwords(monkeypatch)
                app = create_app(settings, clock=clock)
            app.jinja_env.bytecode_cache = COMPILED
            app.extensions[_MADE] = part_of(app, Database)
            if shared and _is_usual(settings):
                renew_parts(app, clock)
            app.extensions["listeners"] = _listeners(app)
        app.test_client_class = client_class
        self._taken.append((app, shared))
        return app

    def _again(self, settings: Settings) -> Flask | None:
        """One with these settings that is free, if there is any."""
        if self._free.get(settings):
            return self._free[settings].pop()
        found = next((app for app in self._unusual if app.config["SETTINGS"] == settings), None)
        if found is not None:
            self._unusual.remove(found)
        return found

    def release(self) -> None:
        """Take back what the test was given."""
        taken, self._taken = self._taken, []
        for app, shared in taken:
            again = shared and _listeners(app) == app.extensions["listeners"]
            if again and _is_usual(app.config["SETTINGS"]):
                self._free.setdefault(app.config["SETTINGS"], []).append(app)
                continue
            _close(app)  # also of those that are used again: so many would have too many connections
            if again:
                self._unusual[:] = [*self._unusual, app][-MOST_UNUSUAL:]

    def close(self) -> None:
        """Close every connection."""
        for apps in self._free.values():
            for app in apps:
                _close(app)


def _listeners(app: Flask) -> list[int]:
    """How many listen to each event of the engines: a test may have left one there."""
    database = part_of(app, Database)
    engines: tuple[Any, ...] = database.engine, database.reads
    return [
        len(list(getattr(listened.dispatch, name)))
        for engine in engines
        for listened in (engine, engine.pool, engine.dialect)
        for name in sorted(listened.dispatch._event_names)
    ]


def _close(app: Flask) -> None:
    with app.app_context():
        close_connections()
