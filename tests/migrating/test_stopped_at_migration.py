"""Chains that were stopped before their times were kept get them from the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_migrate import downgrade, upgrade

from app import create_app
from app.db.models import db
from app.network.document import import_network
from tests.actors import TESTER
from tests.applications import close_connections, make_settings
from tests.databases import BACKENDS, new_postgres_database
from tests.gateway import current_gateway
from tests.network.services.network_kit import network, text


@pytest.fixture(params=BACKENDS)
def new(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flask]:
    """An application on a database of the newest revision."""
    url = f"sqlite:///{tmp_path / 'new.db'}"
    if request.param == "postgresql":
        url = new_postgres_database(request.getfixturevalue("postgres_server"))
    application = create_app(make_settings(url))
    with application.app_context():
        upgrade(directory="migrations")
        yield application
        close_connections()


def stopped_at() -> list[Any]:
    with db.engine.connect() as connection:
        return list(connection.scalars(sa.text("SELECT disabled_at FROM chains ORDER BY chain_id")))


@pytest.mark.soak("a schema that goes down and up; only migrations change it")
def test_the_log_tells_since_when(new: Flask) -> None:
    rows = network()
    rows["chains"][0] |= {"disabled": True, "disabled_reason": "first"}
    import_network(*current_gateway().editing, text(rows), actor=TESTER)
    rows["chains"][0] |= {"disabled_reason": "said otherwise"}
    rows["chains"][2] |= {"disabled": True}
    import_network(*current_gateway().editing, text(rows), actor=TESTER)
    rows["chains"][2] |= {"disabled": False}
    import_network(*current_gateway().editing, text(rows), actor=TESTER)
    kept = stopped_at()
    assert [at is not None for at in kept] == [True, False, False]
    downgrade(directory="migrations", revision="0019")
    upgrade(directory="migrations")
    assert stopped_at() == kept
