"""Every answer has the id of its request: the caller's own where it is harmless, else a new one."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.datastructures import Headers

from app.http.headers import REQUEST_ID
from app.http.later import LEFT, Beginning, Later, Pause, Step
from app.latency import views
from app.observability.logs import EntryFormatter
from app.observability.private import Private
from tests.api.shapes import LATENCY, STATUS

MADE = re.compile(r"[0-9a-f]{12}-[0-9a-f]+")
ANY_LATENCY = f"{LATENCY}?src_chain_id=1&dst_chain_id=56"
GRPC = "/sgn.gateway.v1.Web/"
PATHS = [
    ("GET", ANY_LATENCY), ("GET", LATENCY), ("POST", LATENCY), ("OPTIONS", LATENCY), ("POST", STATUS),
    ("GET", "/nowhere"), ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/openapi.json"), ("GET", "/"),
    ("POST", f"{GRPC}EstimateAmt"), ("POST", f"{GRPC}Nothing"), ("GET", f"{GRPC}EstimateAmt"),
    ("OPTIONS", f"{GRPC}EstimateAmt"), ("GET", "/transfer/x"), ("POST", "/ingest/v1/events"),
    ("GET", "/admin/"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_every_answer_has_one_request_id(client: FlaskClient, method: str, path: str) -> None:
    given = "0192f0c1-7b1e-7cc3-98c4-dc0c0c07398f"
    answers = [
        client.open(path, method=method),
        client.open(path, method=method, headers={REQUEST_ID: given}),
    ]
    made, taken = (answer.headers.getlist(REQUEST_ID) for answer in answers)
    assert taken == [given]
    assert len(made) == 1
    assert MADE.fullmatch(made[0])


def test_each_request_has_its_own_id(client: FlaskClient) -> None:
    assert len({client.get("/healthz").headers[REQUEST_ID] for _ in range(100)}) == 100


@pytest.mark.parametrize(
    "given",
    [
        "", "short", "x" * 65, "has space", "1.2.3.4-5", "2001:db8::1", "x=12345678", "12345678ä",
        "12345678\t", "gwk_" + "0" * 59,
    ],
)  # fmt: skip
def test_harmful_request_ids_are_replaced(client: FlaskClient, given: str) -> None:
    assert MADE.fullmatch(client.get("/healthz", headers={REQUEST_ID: given}).headers[REQUEST_ID])


@pytest.mark.parametrize("given", ["x" * 8, "x" * 64, "A-Z_a-z_09"])
def test_harmless_request_ids_are_used(client: FlaskClient, given: str) -> None:
    assert client.get("/healthz", headers={REQUEST_ID: given}).headers[REQUEST_ID] == given


def test_request_id_reveals_no_secret(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer is that of every id; the log has another."""
    monkeypatch.setattr("app.observability.logs.PRIVATE", Private(["the-password-of-ours"]))
    monkeypatch.setattr(views, "median_latency", lambda *_: 1 / 0)
    caplog.handler.setFormatter(EntryFormatter("json"))
    for path in ("/healthz", ANY_LATENCY):
        for guess in ("the-password-of-ours", "the-password-of-theirs"):
            assert client.get(path, headers={REQUEST_ID: guess}).headers.getlist(REQUEST_ID) == [guess]
    assert "the-password-of-ours" not in caplog.text
    assert MADE.fullmatch(json.loads(caplog.text)["request_id"])


def test_other_origins_send_and_read_id(client: FlaskClient) -> None:
    assert REQUEST_ID in client.get(ANY_LATENCY).headers["Access-Control-Expose-Headers"].split(", ")
    allowed = client.options(LATENCY).headers["Access-Control-Allow-Headers"].split(", ")
    assert {"x-request-id", "traceparent"} <= set(allowed)


def test_log_entries_have_the_request_id(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("what went wrong")

    monkeypatch.setattr(views, "median_latency", fail)
    caplog.handler.setFormatter(EntryFormatter("json"))
    answer = client.get(ANY_LATENCY, headers={REQUEST_ID: "what-went-wrong"})
    assert answer.status_code == 500
    entry = json.loads(caplog.text)
    assert entry["request_id"] == "what-went-wrong"
    assert entry["operation"] == "v2.get_latest_7_day_transfer_latency"
    assert "RuntimeError: what went wrong" in entry["exception"]


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Any:
    """The fields of the entries of the request log so far."""
    caplog.set_level(logging.INFO, "app.http.request_log")
    return lambda: [
        vars(record)["fields"] for record in caplog.records if record.name == "app.http.request_log"
    ]


def test_requests_are_logged_by_operation(open_app: Any, logged: Any) -> None:
    client = open_app(access_log="all").test_client()
    account = "0x" + "5a" * 20
    client.get(ANY_LATENCY, headers={REQUEST_ID: "first-one"})
    client.get(f"/v2/transferHistory?addr={account}&page_size=1", headers={"X-Forwarded-For": "203.0.113.7"})
    client.get(f"/nowhere/{account}")
    client.post(f"{GRPC}GetTransferConfigs", headers={"Content-Type": "application/grpc-web+proto"})
    client.post(f"{GRPC}{account}")
    entries = logged()
    assert [(entry["operation"], entry["code"], entry.get("reason")) for entry in entries] == [
        ("v2.get_latest_7_day_transfer_latency", 200, "chain_unknown"),
        ("v2.get_transfer_history", 200, None),
        ("unknown", 404, "path_not_found"),
        ("grpcweb.GetTransferConfigs", 200, "bad_request"),
        ("grpcweb.unknown", 200, "path_not_found"),
    ]
    assert entries[0]["request_id"] == "first-one"
    assert all(0 < entry["duration_ms"] < 60_000 for entry in entries)
    for logged_ends in (account, "203.0.113.7", "127.0.0.1"):
        assert logged_ends not in str(entries)


def test_only_faults_are_logged_as_errors(
    open_app: Any, logged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = open_app(access_log="errors").test_client()
    for path in (ANY_LATENCY, LATENCY, "/nowhere"):
        client.get(path)
    assert not logged()

    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(views, "median_latency", fail)
    client.get(ANY_LATENCY)
    assert [(entry["code"], entry["reason"]) for entry in logged()] == [(500, "internal")]


def test_no_request_is_logged_by_default(client: FlaskClient, logged: Any) -> None:
    client.get(ANY_LATENCY)
    assert not logged()


class _Source:
    """An answer that comes after a pause."""

    def steps(self, own: list[tuple[str, str]]) -> Iterator[Step]:
        yield Pause()
        yield Beginning("503 SERVICE UNAVAILABLE", [("X-Gateway-Reason", "unavailable"), *own], b"")

    def on_wake(self, wake: Callable[[], None]) -> None:
        pass

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("completes", "end"), [(True, (503, "unavailable")), (False, (LEFT, None))])
def test_delayed_answer_is_logged_at_its_end(completes: bool, end: tuple[int, str | None]) -> None:
    logged_ends: list[tuple[int, str | None]] = []
    later = Later(_Source(), Headers(), log=lambda *end: logged_ends.append(end))
    next(later.steps)
    assert not logged_ends
    if completes:
        assert isinstance(next(later.steps), Beginning)
    later.close()
    assert logged_ends == [end]
