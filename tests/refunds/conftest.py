"""The gateway behind its HTTP door, with the small network, its clock at NOW."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask

from app import create_app
from app.extensions import db
from app.models.engine import writing
from app.runtime.gateway import current_gateway
from tests.conftest import make_settings
from tests.refunds.kit import Asker
from tests.services.feed.world import NOW, build_network


@pytest.fixture
def app(database_url: str) -> Iterator[Flask]:
    application = create_app(make_settings(database_url), clock=lambda: NOW)
    with application.app_context():
        with writing(current_gateway().engine) as connection:
            build_network(connection)
        yield application
        db.engine.dispose()


@pytest.fixture
def ask(app: Flask) -> Asker:
    return Asker(app.test_client(), current_gateway())
