"""What the gateway reports of a pooler between it and PostgreSQL."""

from __future__ import annotations

import pytest
from flask_migrate import upgrade

from app.db.database import Database
from app.db.pooler import check_pooler, missing_limits, pooler_complaint
from app.http.application import part_of
from app.monitoring.readiness import Readiness
from tests.applications import application
from tests.pooler.bouncer import Bouncer, bouncing
from tests.serving.server import ended_server

pytestmark = pytest.mark.system

HIDDEN = "shares connections between transactions"


def complaint(url: str, *, pooled: bool) -> str | None:
    """The complaint at the start."""
    with application(url, database_pooler=pooled) as app:
        return pooler_complaint(part_of(app, Database))


def test_undeclared_pooler_is_refused(bouncer: Bouncer, database: str) -> None:
    found = complaint(bouncer.url(database), pooled=False)
    assert found and HIDDEN in found and "set DATABASE_POOLER=1" in found
    assert complaint(bouncer.url(database), pooled=True) is None


def test_session_pooler_needs_no_setting(roles: str, database: str) -> None:
    assert complaint(database, pooled=False) is None
    with bouncing(roles, mode="session") as of_sessions:
        assert complaint(of_sessions.url(database), pooled=False) is None
        assert complaint(of_sessions.url(database), pooled=True) is None


def test_statement_pooler_is_refused(roles: str, database: str) -> None:
    with bouncing(roles, mode="statement") as of_statements:
        found = complaint(of_statements.url(database), pooled=True)
    assert found and "splits transactions" in found


def test_role_outside_utc_is_refused(
    bouncer: Bouncer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client's zone travels with it through PgBouncer."""
    monkeypatch.setenv("PGTZ", "America/New_York")
    found = complaint(bouncer.url(database), pooled=True)
    assert found and "America/New_York: ALTER ROLE gateway SET TimeZone = 'UTC'" in found


def test_missing_limits_of_role_are_reported(
    bouncer: Bouncer, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    for role, lacks in (("gateway", False), ("bare", True)):
        with application(bouncer.url(database, role), database_pooler=True) as app:
            lack = missing_limits(part_of(app, Database))
            assert (lack is not None) == lacks
            check_pooler(part_of(app, Database))
            assert ("ALTER ROLE bare SET lock_timeout = '2s'" in caplog.text) == lacks
    with application(database) as app:
        assert missing_limits(part_of(app, Database)) is None


def test_undeclared_pooler_makes_unready(bouncer: Bouncer, database: str) -> None:
    """A pooler may have come after the start."""
    with application(bouncer.url(database), database_pooler=True) as app:
        upgrade(directory="migrations")
        assert HIDDEN not in (part_of(app, Readiness).verdict().complaint or "")
    with application(bouncer.url(database)) as app:
        assert HIDDEN in (part_of(app, Readiness).verdict().complaint or "")


def test_gunicorn_refuses_to_start(bouncer: Bouncer, database: str) -> None:
    """With ``DATABASE_POOLER=1`` it starts: ``test_restart.py``."""
    ended = ended_server(DATABASE_URL=bouncer.url(database))
    assert ended.returncode != 0
    assert HIDDEN in ended.stderr
    assert "Traceback" not in ended.stderr
