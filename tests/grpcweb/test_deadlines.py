"""``grpc-timeout``: read as gRPC writes it, and obeyed."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from app.grpcweb import calls
from app.grpcweb.calls import Deadline, DeadlineExceeded
from app.values.errors import BadRequest
from tests.grpcweb.wire import DEADLINE_EXCEEDED, INVALID_ARGUMENT, OK, call, refused

READ = [
    ("2H", 7200), ("3M", 180), ("15S", 15), ("1500m", 1.5), ("99999999u", 99.999999), ("5n", 5e-9),
    ("007S", 7), ("0S", 0),
]  # fmt: skip
MALFORMED = [
    "", "S", "15", "S15", "15s", "15h", "-1S", "+1S", "1.5S", "1e3m", " 15S", "15S ", "15 S", "123456789m",
    "15SS", "15S, 15S", "15S\u0661", "\u0661S", "Infinitym", "NaNm", "1_0S", "0x1S",
]  # fmt: skip


@pytest.mark.parametrize(("timeout", "seconds"), READ)
def test_timeouts_of_every_unit(timeout: str, seconds: float) -> None:
    assert Deadline.read(timeout, 100.0).at == pytest.approx(100 + seconds, abs=1e-12)


@pytest.mark.parametrize("timeout", MALFORMED)
def test_malformed_timeouts(timeout: str) -> None:
    with pytest.raises(BadRequest, match=r"^grpc-timeout: "):
        Deadline.read(timeout, 0.0)


def test_call_without_timeout_has_no_deadline() -> None:
    Deadline.read(None, 0.0).check(1e12)


def test_deadline_is_over_when_reached() -> None:
    deadline = Deadline.read("1S", 100.0)
    deadline.check(100.999)
    for now in (101.0, 200.0):
        with pytest.raises(DeadlineExceeded):
            deadline.check(now)


def configs_within(client: FlaskClient, timeout: str) -> Any:
    return call(client, "GetTransferConfigs", headers={"grpc-timeout": timeout})


@pytest.mark.parametrize("timeout", ["10S", "99999999H", "60000m"])
def test_call_in_time_is_answered(client: FlaskClient, timeout: str) -> None:
    assert configs_within(client, timeout).status == OK


@pytest.mark.parametrize("timeout", ["123456789m", "soon", "1S,2S", "-5S"])
def test_malformed_timeout_is_refused(client: FlaskClient, timeout: str) -> None:
    assert "grpc-timeout" in refused(configs_within(client, timeout), INVALID_ARGUMENT, "bad_request")


def test_expired_call_does_no_work(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "settle_what_is_due", lambda _database: pytest.fail("the client has left"))
    for timeout in ("0S", "1n"):
        refused(configs_within(client, timeout), DEADLINE_EXCEEDED, None)


def test_call_expires_during_work(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([100.0, 100.5, 101.5])
    monkeypatch.setattr("app.grpcweb.calls.time.monotonic", lambda: next(moments, 200.0))
    refused(configs_within(client, "1S"), DEADLINE_EXCEEDED, None)
