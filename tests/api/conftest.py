"""Applications with the small network, at a time that stands still."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.api.world import NOW, configure
from tests.applications import Applications, OpenApp
from tests.databases import SharedDatabase
from tests.grpcweb.two_doors import TwoDoors

UNCARRIED = {
    "test_what_does_not_change_the_answer": "is_pegged=[fF0]",  # an explicit false
    "test_missing_tolerance_is_zero_and_passes": "",  # left out is an explicit zero
    "test_read_strictly_the_tolerance_is_required": "",
    "test_what_only_a_query_can_get_wrong": "",  # numbers and what comes twice
    "test_errors_have_the_type_too": "",  # broken JSON
    "test_it_loads_into_an_empty_database_only": "",  # asks nothing
}
"""Tests that ask only what a gRPC-Web message cannot say, and which of their cases."""


@pytest.fixture
def client_class(request: pytest.FixtureRequest) -> type[FlaskClient]:
    """How the tests ask: those marked ``both_doors`` over HTTP and gRPC-Web, the others over HTTP."""
    return TwoDoors if request.node.get_closest_marker("both_doors") else FlaskClient


@pytest.fixture(autouse=True)
def something_was_compared(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test of both doors passes because nothing was asked over the other one."""
    before = TwoDoors.compared
    yield
    if request.node.get_closest_marker("both_doors"):
        cases = UNCARRIED.get(request.node.originalname)
        uncarried = cases is not None and re.search(cases, request.node.name) is not None
        assert (TwoDoors.compared == before) == uncarried, (
            "METHOD_OF of tests/grpcweb/two_doors.py has what both doors serve, UNCARRIED what one cannot ask"
        )


@pytest.fixture
def open_app(
    applications: Applications, shared_database: SharedDatabase, client_class: type[FlaskClient]
) -> OpenApp:
    """Gives applications with these settings on the test's database, at NOW."""
    return applications.opener(shared_database, lambda: NOW, client_class)


@pytest.fixture
def app(open_app: OpenApp, shared_database: SharedDatabase) -> Flask:
    """The usual application, its network configured."""
    app = open_app()
    shared_database.fill("tests.api", lambda: configure(app))
    return app


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def strict(app: Flask, open_app: OpenApp) -> FlaskClient:
    """Asks a gateway on the same database that reads strictly (``COMPAT_CLIENTS=0``)."""
    return open_app(compat_clients=False).test_client()
