"""After any fault behind a path, the answer has the path's whole shape and no secret."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug import exceptions as http

from app.db.writes import DATABASE_UNAVAILABLE
from app.http.errors import FRAMEWORK_ERRORS, HTTP_STATUS, status_and_error
from app.latency import views as latency
from app.transfers import views as transfers
from app.values.codes import Reason
from app.values.error_catalogue import ErrorKind
from app.values.errors import BadRequest, GatewayError, TooLarge, Unauthorized, Unavailable, UnsupportedFormat
from tests.api.faults import FAULTS
from tests.api.shapes import LATENCY, READY, STATUS, ZEROES, assert_refused

OWN_STATUS: dict[type[Exception], int] = {
    BadRequest: 400,
    Unauthorized: 401,
    TooLarge: 413,
    UnsupportedFormat: 415,
    Unavailable: 503,
}


@pytest.fixture
def failing(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes both services fail with an error, and sends a request."""

    def fail(path: str, error: Exception) -> Any:
        def raise_it(*_: object) -> None:
            raise error

        monkeypatch.setattr(latency, "median_latency", raise_it)
        monkeypatch.setattr(transfers, "transfer_status", raise_it)
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
    assert_refused(response, status, reason, path)
    assert "hunter2" not in response.get_data(as_text=True)
    logged = [record for record in caplog.records if record.name == "app.http.errors"]
    assert bool(logged) == (status >= 500)
    if logged:
        assert logged[0].levelno == (logging.ERROR if status == 500 else logging.WARNING)
        assert logged[0].exc_info is not None
        assert "Retry-After" in response.headers or status == 500


@pytest.mark.parametrize(
    ("error", "status", "reason", "code"),
    [
        (Unavailable("try again"), 503, "unavailable", 500),
        (BadRequest("amt: no"), 400, "bad_request", 500),
        (GatewayError("no", reason=Reason.TOTAL_CAP), 200, "total_cap", 1017),
    ],
)
def test_errors_have_their_own_message(
    failing: Any, error: GatewayError, status: int, reason: str, code: int
) -> None:
    assert assert_refused(failing(LATENCY, error), status, reason, LATENCY, code) == error.msg


def test_every_kind_of_error_has_a_status() -> None:
    assert set(HTTP_STATUS) == set(ErrorKind)


@pytest.mark.parametrize("kind", [*FRAMEWORK_ERRORS, *DATABASE_UNAVAILABLE, *OWN_STATUS])
def test_subclasses_answer_like_the_exception(kind: type[Exception]) -> None:
    subclass: Any = type("Sub", (kind,), {})
    if issubclass(kind, http.HTTPException):
        error = subclass()
    else:
        error = subclass("no") if issubclass(kind, GatewayError) else subclass.__new__(subclass)
    status, answered = status_and_error(error)
    if issubclass(kind, http.HTTPException):
        reason, msg = FRAMEWORK_ERRORS[kind]
        assert (status, answered.reason, answered.msg) == (kind.code, reason, msg)
    else:
        assert status == OWN_STATUS.get(kind, 503)


def test_other_exception_is_internal_error() -> None:
    status, answered = status_and_error(ValueError())
    assert (status, answered.reason) == (500, Reason.INTERNAL)


def test_wrong_method_gets_allowed_methods(client: FlaskClient) -> None:
    """A status is requested by POST, or by GET with a query."""
    assert set(client.put(STATUS).headers["Allow"].split(", ")) == {"GET", "HEAD", "POST", "OPTIONS"}


def test_missing_database_is_unavailable(open_app: Any, tmp_path: Any) -> None:
    app: Flask = open_app(database_url=f"sqlite:///{tmp_path}/nowhere/gateway.db")
    client = app.test_client()
    assert client.get("/healthz").status_code == 200
    ready = client.get("/readyz")
    assert "database" in assert_refused(ready, 503, "unavailable", READY)
    assert_refused(client.post(STATUS, json={"transfer_id": "0" * 64}), 503, "unavailable", STATUS)
    query = {"src_chain_id": 1, "dst_chain_id": 56}
    assert_refused(client.get(LATENCY, query_string=query), 503, "unavailable", LATENCY)


def test_unmigrated_database_is_not_ready(open_app: Any, tmp_path: Any) -> None:
    (tmp_path / "empty.db").touch()
    app: Flask = open_app(database_url=f"sqlite:///{tmp_path}/empty.db")
    message = assert_refused(app.test_client().get("/readyz"), 503, "unavailable", READY)
    assert message.startswith("migrations: the database has revision none, this version needs 0")


def test_ready(client: FlaskClient) -> None:
    for path in ("/healthz", "/readyz"):
        response = client.get(path)
        assert (response.status_code, response.get_json()) == (200, {"err": None} | ZEROES.get(path, {}))
        assert response.headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in response.headers
