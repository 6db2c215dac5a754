"""After any fault behind a call, the answer has a status and no secret."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug import exceptions as framework

from app.estimates import views as estimates
from app.grpcweb.calls import GRPC_STATUS, CompressedMessage, DeadlineExceeded
from app.latency import views as latency
from app.network import views as network
from app.transfers import views as transfers
from app.values.codes import Reason
from app.values.error_catalogue import ErrorKind
from app.values.errors import BadRequest, GatewayError, TooLarge, Unavailable, UnsupportedFormat
from tests.api.faults import FAULTS
from tests.grpcweb.wire import (
    DEADLINE_EXCEEDED,
    INTERNAL,
    INVALID_ARGUMENT,
    OK,
    RESOURCE_EXHAUSTED,
    UNAVAILABLE,
    UNIMPLEMENTED,
    Answer,
    call,
    read,
    refused,
)

STATUS_OF = {400: INVALID_ARGUMENT, 408: INTERNAL, 500: INTERNAL, 503: UNAVAILABLE}
"""Of the faults over HTTP. Only the framework of HTTP has a 408: it means nothing here."""

Fail = Callable[[str, Exception], Answer]
SERVICES = (
    (latency, "median_latency"),
    (transfers, "transfer_status"),
    (estimates, "estimate_transfer"),
    (network, "transfer_configs"),
)
METHODS = ["GetTransferStatus", "GetLatest7DayTransferLatencyForQuery", "EstimateAmt", "GetTransferConfigs"]


@pytest.fixture
def failing(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> Fail:
    """Makes the services fail with an error, and calls."""

    def fail(method: str, error: Exception) -> Answer:
        def raise_it(*_: object) -> None:
            raise error

        for views, name in SERVICES:
            monkeypatch.setattr(views, name, raise_it)
        fields: dict[str, Any] = {"GetTransferStatus": {"transfer_id": "0" * 64}}.get(method, {})
        if method == "EstimateAmt":
            fields = {"token_symbol": "USDT", "amt": "1"}
        return call(client, method, **fields)

    return fail


@pytest.mark.parametrize(("error", "http", "reason"), FAULTS, ids=lambda value: type(value).__name__)
def test_fault_has_a_status_and_no_secret(
    failing: Fail, caplog: pytest.LogCaptureFixture, error: Exception, http: int, reason: str
) -> None:
    status = STATUS_OF[http]
    answer = failing("EstimateAmt", error)
    refused(answer, status, "internal" if http == 408 else reason)
    assert b"hunter2" not in answer.response.get_data()
    assert "hunter2" not in str(answer.response.headers)
    logged = [record for record in caplog.records if record.name == "app.grpcweb.calls"]
    assert bool(logged) == (status != INVALID_ARGUMENT)
    if logged:
        assert logged[0].levelno == (logging.ERROR if status == INTERNAL else logging.WARNING)
        assert logged[0].exc_info is not None
    assert ("Retry-After" in answer.response.headers) == (status == UNAVAILABLE)


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (Unavailable("try again, 100 %"), UNAVAILABLE, "unavailable"),
        (BadRequest("amt: nö"), 3, "bad_request"),
    ],
)
def test_errors_have_their_own_message(failing: Fail, error: GatewayError, status: int, reason: str) -> None:
    assert refused(failing("EstimateAmt", error), status, reason) == error.msg


@pytest.mark.parametrize("method", METHODS)
def test_business_errors_are_answers(failing: Fail, method: str) -> None:
    error = GatewayError("nö", reason=Reason.TOTAL_CAP)
    answer = failing(method, error)
    message = read(answer, method)
    assert (answer.status, answer.reason, message.err.code, message.err.msg) == (OK, "total_cap", 1017, "nö")
    message.ClearField("err")
    assert message.ByteSize() == 0


def test_every_kind_of_error_has_a_status() -> None:
    assert set(GRPC_STATUS) == set(ErrorKind)


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (framework.BadRequest(), INVALID_ARGUMENT, "bad_request"),
        (framework.RequestEntityTooLarge(), RESOURCE_EXHAUSTED, "body_too_large"),
        (framework.TooManyRequests(), RESOURCE_EXHAUSTED, "rate_limited"),
        (TooLarge("no"), RESOURCE_EXHAUSTED, "body_too_large"),
        (UnsupportedFormat("no"), INVALID_ARGUMENT, "unsupported_media_type"),
        (CompressedMessage(), UNIMPLEMENTED, "unsupported_media_type"),
        (DeadlineExceeded(), DEADLINE_EXCEEDED, None),
        (ValueError(), INTERNAL, "internal"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_by_their_class(failing: Fail, error: Exception, status: int, reason: str | None) -> None:
    subclass = type("Sub", (type(error),), {})
    answer = failing("EstimateAmt", subclass(*error.args))
    assert (answer.status, answer.reason) == (status, reason)


def test_missing_database_is_unavailable(open_app: Any, tmp_path: Path) -> None:
    client = open_app(database_url=f"sqlite:///{tmp_path}/nowhere/gateway.db").test_client()
    for method, fields in (
        ("GetTransferStatus", {"transfer_id": "0" * 64}),
        ("GetLatest7DayTransferLatencyForQuery", {"src_chain_id": 1}),
        ("GetTransferConfigs", {}),
    ):
        refused(call(client, method, **fields), UNAVAILABLE, "unavailable")
