"""What cannot be read over HTTP cannot be read over gRPC-Web either, as far as a message can say it."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app import create_app
from tests.api.test_malformed import *  # noqa: F403  also the cases still to come
from tests.api.test_malformed import queries
from tests.conftest import make_settings
from tests.grpcweb.two_doors import METHOD_OF, TwoDoors, carried_query


@pytest.fixture(scope="module")
def door(sqlite_template: Path) -> FlaskClient:
    """As over HTTP, but asking over both doors."""
    app = create_app(make_settings(f"sqlite:///{sqlite_template}"))
    app.test_client_class = TwoDoors
    return app.test_client()


def test_messages_carry_many_of_them() -> None:
    raw = [
        (path, query.encode().decode("latin-1"), name) for path, query, name in queries() if path in METHOD_OF
    ]
    carried = [name for path, query, name in raw if carried_query(path, query)]
    assert len(carried) >= 40
    assert set(carried) == {"token_symbol", "amt", "usr_addr"}
