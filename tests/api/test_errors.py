"""Whatever goes wrong behind a path, the answer has the path's whole shape and gives nothing away."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy.exc import InterfaceError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from werkzeug import exceptions as http

from app.api import v2
from app.api.errors import OUTCOMES, outcome_of
from app.domain.codes import ErrCode, Reason
from app.domain.errors import BadRequest, GatewayError, Unavailable
from tests.api.shapes import LATENCY, STATUS, assert_refused

SECRET = "postgresql://user:hunter2@db/gateway"
FAULTS = [
    (OperationalError("SELECT 1", {}, Exception(SECRET)), 503, "unavailable"),
    (InterfaceError("SELECT 1", {}, Exception(SECRET)), 503, "unavailable"),
    (PoolTimeout(SECRET), 503, "unavailable"),
    (ProgrammingError("SELECT 1", {}, Exception(SECRET)), 500, "internal"),
    (RuntimeError(SECRET), 500, "internal"),
    (RecursionError(SECRET), 500, "internal"),
    (MemoryError(SECRET), 500, "internal"),
    (http.InternalServerError(SECRET), 500, "internal"),
    (http.BadGateway(SECRET), 500, "internal"),
    (http.RequestTimeout(SECRET), 408, "bad_request"),
    (http.BadRequestKeyError(SECRET), 400, "bad_request"),
]


@pytest.fixture
def failing(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes both services fail with an error, and asks."""

    def fail(path: str, error: Exception) -> Any:
        def raise_it(*_: object) -> None:
            raise error

        monkeypatch.setattr(v2, "median_latency", raise_it)
        monkeypatch.setattr(v2, "transfer_status", raise_it)
        if path == STATUS:
            return client.post(STATUS, json={"transfer_id": "0" * 64})
        return client.get(LATENCY, query_string={"src_chain_id": 1, "dst_chain_id": 56})

    return fail


@pytest.mark.parametrize("path", [STATUS, LATENCY])
@pytest.mark.parametrize(("error", "status", "reason"), FAULTS, ids=lambda value: type(value).__name__)
def test_faults(
    failing: Any, caplog: pytest.LogCaptureFixture, path: str, error: Exception, status: int, reason: str
) -> None:
    response = failing(path, error)
    message = assert_refused(response, status, reason, path)
    assert "hunter2" not in response.get_data(as_text=True)
    assert message.lower() == message[0].lower() + message[1:].lower()
    logged = [record for record in caplog.records if record.name == "app.api.errors"]
    assert bool(logged) == (status >= 500)
    if logged:
        assert logged[0].levelno == (logging.ERROR if status == 500 else logging.WARNING)
        assert logged[0].exc_info is not None
        assert "Retry-After" in response.headers or status == 500


@pytest.mark.parametrize(
    ("error", "status", "reason", "code"),
    [
        (Unavailable("ask again"), 503, "unavailable", 500),
        (BadRequest("amt: no"), 400, "bad_request", 500),
        (
            GatewayError("no", reason=Reason.TOTAL_CAP, code=ErrCode.ERROR_CODE_LIQ_OVER_CAP),
            200,
            "total_cap",
            1017,
        ),
    ],
)
def test_errors_of_the_gateway_keep_their_words(
    failing: Any, error: GatewayError, status: int, reason: str, code: int
) -> None:
    assert assert_refused(failing(LATENCY, error), status, reason, LATENCY, code) == error.msg


def test_every_line_of_the_table_is_reached() -> None:
    for kind, outcome in OUTCOMES.items():
        if kind is not Exception:
            subclass = type("Sub", (kind,), {})
            assert outcome_of(subclass.__new__(subclass)) == outcome
    assert outcome_of(ValueError()) == OUTCOMES[Exception]


def test_the_allowed_methods_are_named(client: FlaskClient) -> None:
    assert set(client.get(STATUS).headers["Allow"].split(", ")) == {"POST", "OPTIONS"}


def test_the_database_is_gone(open_app: Any, tmp_path: Any) -> None:
    app: Flask = open_app(database_url=f"sqlite:///{tmp_path}/nowhere/gateway.db")
    client = app.test_client()
    assert client.get("/healthz").status_code == 200
    ready = client.get("/readyz")
    assert "database" in assert_refused(ready, 503, "unavailable", None)
    assert_refused(client.post(STATUS, json={"transfer_id": "0" * 64}), 503, "unavailable", STATUS)
    query = {"src_chain_id": 1, "dst_chain_id": 56}
    assert_refused(client.get(LATENCY, query_string=query), 503, "unavailable", LATENCY)


def test_the_database_is_not_migrated(open_app: Any, tmp_path: Any) -> None:
    app: Flask = open_app(database_url=f"sqlite:///{tmp_path}/empty.db")
    message = assert_refused(app.test_client().get("/readyz"), 503, "unavailable", None)
    assert message.startswith("migrations: the database is at none, this version needs 0")


def test_ready(client: FlaskClient) -> None:
    for path in ("/healthz", "/readyz"):
        response = client.get(path)
        assert (response.status_code, response.get_json()) == (200, {"err": None})
        assert response.headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in response.headers
