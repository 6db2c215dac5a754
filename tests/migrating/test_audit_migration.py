"""Records from before every touched row was indexed are found by it, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_migrate import downgrade, upgrade

from app import create_app
from app.db.models import db
from tests.applications import close_connections, make_settings


@pytest.fixture
def old(empty_url: str) -> Iterator[Flask]:
    """An application on a database of the revision before."""
    application = create_app(make_settings(empty_url))
    with application.app_context():
        upgrade(directory="migrations", revision="0019")
        yield application
        close_connections()


def indexed() -> list[tuple[int, str]]:
    table = sa.Table("audit_subjects", sa.MetaData(), autoload_with=db.engine)
    with db.engine.connect() as connection:
        return sorted(tuple(row) for row in connection.execute(sa.select(table.c.record_id, table.c.subject)))


@pytest.mark.soak("a schema that goes down and up; only migrations change it")
def test_records_are_indexed_by_every_row(old: Flask) -> None:
    table = sa.Table("audit_records", sa.MetaData(), autoload_with=db.engine)
    at = datetime(2026, 5, 1, tzinfo=UTC)
    if db.engine.dialect.name == "sqlite":
        at = at.replace(tzinfo=None)
    common: dict[str, Any] = {"at": at, "actor": "a", "source": "cli", "action": "network.edit", "detail": ""}
    many = [{"subject": f"route USDC {n}", "before": None, "after": {}} for n in (1, 2, 1)]
    rows = [
        {"id": n + 1, "subject": subject, "changes": changes, "mac": bytes([n]) * 32, "key_id": "k"}
        for n, (subject, changes) in enumerate(
            [("3 routes", json.dumps(many)), ("Chain 1", "[]"), ("x" * 256, "no JSON")]
        )
    ]
    with db.engine.begin() as connection:
        connection.execute(table.insert(), [common | row for row in rows])
    upgrade(directory="migrations", revision="0021")
    assert indexed() == [
        (1, "3 routes"), (1, "route usdc 1"), (1, "route usdc 2"), (2, "chain 1"), (3, "x" * 256),
    ]  # fmt: skip
    downgrade(directory="migrations", revision="0019")
    assert not sa.inspect(db.engine).has_table("audit_subjects")
