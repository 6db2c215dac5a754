"""Applications with the small network, at a fixed time."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.api.world import NOW, configure
from tests.applications import Applications, OpenApp
from tests.databases import SharedDatabase
from tests.grpcweb.both_interfaces import BothInterfaces

ONLY_OVER_HTTP = {
    "test_ignored_parameters_change_nothing": "is_pegged=[fF0]",  # an explicit false
    "test_missing_tolerance_is_zero_and_passes": "",  # left out is an explicit zero
    "test_malformed_queries_are_refused": "",  # numbers and what comes twice
    "test_nonce_left_out_is_random": "",  # each answer has another one
    "test_malformed_sends_are_refused": "reciever|usr_addr|native",  # names and values that no message has
    "test_pool_send_needs_a_tolerance": "",  # left out is an explicit zero
    "test_malformed_token_request_is_refused": "chain_id: ",  # no number of the field's type
    "test_sandbox_needs_an_empty_database": "",  # sends nothing
}
"""Tests that request only what no gRPC-Web message can express, and which of their cases."""


@pytest.fixture
def client_class(request: pytest.FixtureRequest) -> type[FlaskClient]:
    """Those marked ``both_interfaces`` send over HTTP and gRPC-Web, the others over HTTP."""
    return BothInterfaces if request.node.get_closest_marker("both_interfaces") else FlaskClient


@pytest.fixture(autouse=True)
def something_was_compared(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test of both interfaces passes because it sent nothing over gRPC-Web."""
    before = BothInterfaces.compared
    yield
    if request.node.get_closest_marker("both_interfaces"):
        cases = ONLY_OVER_HTTP.get(request.node.originalname)
        is_only_over_http = cases is not None and re.search(cases, request.node.name) is not None
        assert (BothInterfaces.compared == before) == is_only_over_http, (
            "METHOD_OF of tests/grpcweb/both_interfaces.py has what both interfaces serve, "
            "ONLY_OVER_HTTP what a message cannot request"
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
    """A client of a gateway on the same database that reads strictly (``COMPAT_CLIENTS=0``)."""
    return open_app(compat_clients=False).test_client()
