"""GET /v2/waitTransferStatus: an answer that comes when the status is another one."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.exc import OperationalError
from werkzeug.datastructures import Headers
from werkzeug.test import TestResponse

from app.db.database import Database
from app.http.application import part_of
from app.transfers.queries.status import transfer_row
from app.values.identifiers import TransferId
from app.waiting import services as service
from app.waiting.register import READS_AT_ONCE, Waiting
from config import ALL_DOORS
from tests.api.shapes import STATUS, WAIT, assert_refused
from tests.api.world import configure, event, released, report_events, sent
from tests.applications import OpenApp
from tests.refunds import requesting
from tests.timer import eventually

ID = "0x" + "5a" * 32
OTHER = "0x" + "a5" * 32
EVENTS = "/v2/transferEvents"
SUBMITTING, CONFIRMED, COMPLETED = 1, 3, 5


@pytest.fixture
def app(open_app: OpenApp) -> Flask:
    app = open_app(doors=("api", "wait"))
    configure(app)
    report_events(app, sent(ID))
    return app


def wait_for(app: Flask, **query: Any) -> TestResponse:
    return app.test_client().get(WAIT, query_string={"transfer_id": ID} | query)


def status_answer(app: Flask, transfer_id: str = ID) -> TestResponse:
    return app.test_client().post(STATUS, json={"transfer_id": transfer_id})


def alike(headers: Headers) -> dict[str, str]:
    """Without the one that no two answers share."""
    return {name: value for name, value in headers.items() if name != "X-Request-Id"}


@pytest.fixture
def in_background(app: Flask) -> Any:
    """Sends a request in a thread of its own, and returns when it waits."""
    with ThreadPoolExecutor() as threads:

        def start(**query: Any) -> Future[TestResponse]:
            waiting = part_of(app, Waiting)
            before = len(waiting)
            pending = threads.submit(wait_for, app, **query)
            eventually(lambda: len(waiting) > before or pending.done())
            return pending

        yield start


def test_answer_that_comes_later_names_what_was_ignored(app: Flask) -> None:
    answer = wait_for(app, after_status=SUBMITTING, timeout=1, until="5")
    assert answer.get_json()["status"] == SUBMITTING
    assert answer.headers["X-Gateway-Ignored"] == "until"


def test_other_status_is_answered_at_once(app: Flask) -> None:
    """By the same answer as the status operation."""
    expected = status_answer(app)
    for query in ({}, {"after_status": 0}, {"after_status": CONFIRMED}, {"after_status": 1, "timeout": 0}):
        response = wait_for(app, **query)
        assert response.get_data() == expected.get_data()
        assert alike(response.headers) == alike(expected.headers)
    assert len(part_of(app, Waiting)) == 0


def test_crowded_request_waits_for_next_look(app: Flask) -> None:
    """A limited number read for themselves at a time, and each gives its turn back."""
    waiting = part_of(app, Waiting)
    for _ in range(READS_AT_ONCE + 1):
        assert wait_for(app, after_status=0).status_code == 200
    for _ in range(READS_AT_ONCE):
        assert waiting.begin_own_read()
    assert not waiting.begin_own_read()
    for transfer_id in (ID, OTHER):
        response = wait_for(app, transfer_id=transfer_id, after_status=9)
        expected = status_answer(app, transfer_id)
        assert (response.status, response.get_data()) == (expected.status, expected.get_data())
        assert alike(response.headers) == alike(expected.headers)
    waiting.end_own_read()
    assert waiting.begin_own_read()
    assert len(waiting) == 0


def test_wait_answers_with_the_next_status(app: Flask, in_background: Any) -> None:
    pending = in_background(after_status=SUBMITTING)
    assert not pending.done()
    report_events(app, released(ID, timedelta(seconds=5)))
    response = pending.result(timeout=5)
    assert response.get_json()["status"] == COMPLETED
    assert response.get_data() == status_answer(app).get_data()
    assert alike(response.headers) == alike(status_answer(app).headers)
    assert len(part_of(app, Waiting)) == 0


def test_event_without_new_status_wakes_no_wait(app: Flask, in_background: Any) -> None:
    pending = in_background(after_status=SUBMITTING)
    report_events(app, sent(OTHER))
    report_events(
        app,
        event(
            "transfer.submitted",
            transfer_id=ID,
            src_chain_id=1,
            dst_chain_id=56,
            symbol="USDT",
            amount="1",
            sender="0x" + "11" * 20,
            receiver="0x" + "11" * 20,
        ),
    )
    time.sleep(0.5)
    assert not pending.done()
    report_events(app, event("transfer.confirmed", transfer_id=ID))
    assert pending.result(timeout=5).get_json()["status"] == CONFIRMED


def test_timeout_answers_the_present_status(app: Flask) -> None:
    began = time.monotonic()
    response = wait_for(app, after_status=SUBMITTING, timeout=1)
    assert 0.9 < time.monotonic() - began < 10
    assert response.get_data() == status_answer(app).get_data()


def test_timeout_has_a_maximum(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is also the default. The transfer stays at SUBMITTING, so each request waits to its end."""
    monkeypatch.setattr("app.waiting.views.LONGEST_SECONDS", 0.2)  # otherwise 30
    for query in ({"timeout": 2**32 - 1}, {}):  # the largest that is accepted, and none
        began = time.monotonic()
        assert wait_for(app, after_status=SUBMITTING, **query).status_code == 200
        assert 0.1 < time.monotonic() - began < 10, "it waits, but not for 30 seconds"


def test_unknown_transfer_waits_at_status_0(app: Flask, in_background: Any) -> None:
    at_once = app.test_client().get(WAIT, query_string={"transfer_id": OTHER, "after_status": 1})
    assert_refused(at_once, 200, "transfer_not_found", STATUS)
    late = app.test_client().get(WAIT, query_string={"transfer_id": OTHER, "after_status": 0, "timeout": 1})
    assert_refused(late, 200, "transfer_not_found", STATUS)
    pending = in_background(transfer_id=OTHER, after_status=0)
    report_events(app, sent(OTHER))
    assert pending.result(timeout=5).get_json()["status"] == SUBMITTING


def test_requested_refund_ends_the_wait(app: Flask, in_background: Any) -> None:
    report_events(app, event("network.status", transfer_id=ID, xfer_status=4))
    pending = in_background(after_status=6)
    assert not pending.done()
    request_refund(app)
    assert pending.result(timeout=5).get_json()["status"] == 7


def request_refund(app: Flask) -> None:
    answer = requesting.send_request(app.test_client(), "http", requesting.withdraw_req(ID))
    assert answer.understood


def test_change_before_wait_is_noticed(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The view reads before the change, and the change is looked at before the view has gone to wait."""
    reads = transfer_row

    def read_then_change(*args: Any) -> Any:
        row = reads(*args)
        monkeypatch.setattr(service, "transfer_row", reads)
        report_events(app, released(ID, timedelta(seconds=5)))
        time.sleep(0.4)  # the thread looks meanwhile
        return row

    monkeypatch.setattr(service, "transfer_row", read_then_change)
    began = time.monotonic()
    assert wait_for(app, after_status=SUBMITTING, timeout=20).get_json()["status"] == COMPLETED
    assert time.monotonic() - began < 15


def test_stale_read_does_not_miss_change(
    app: Flask, in_background: Any, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    """The view reads from a replica that is behind what the thread has looked at already."""
    stale = database.public.run_read(transfer_row, TransferId(bytes.fromhex(ID[2:])))
    other = in_background(transfer_id=OTHER, after_status=0)  # the thread looks
    report_events(app, released(ID, timedelta(seconds=5)))
    time.sleep(0.4)
    with monkeypatch.context() as behind:
        behind.setattr(service, "transfer_row", lambda *_: stale)
        began = time.monotonic()
        assert wait_for(app, after_status=SUBMITTING, timeout=20).get_json()["status"] == COMPLETED
        assert time.monotonic() - began < 15
    report_events(app, sent(OTHER))
    other.result(timeout=5)


def test_more_than_the_limit_are_refused(open_app: OpenApp) -> None:
    app = open_app(doors=("api", "wait"), wait_limit=1, trusted_proxies=1)
    configure(app)
    report_events(app, sent(ID))
    waiting = part_of(app, Waiting)
    with ThreadPoolExecutor() as threads:
        pending = threads.submit(wait_for, app, after_status=SUBMITTING)
        eventually(lambda: len(waiting) == 1)
        refused = from_address(app, "192.0.2.1", after_status=SUBMITTING)
        assert_refused(refused, 503, "wait_busy", STATUS)
        assert refused.headers["Retry-After"] == "5"
        assert wait_for(app).status_code == 200  # this one is answered at once
        report_events(app, released(ID, timedelta(seconds=5)))
        assert pending.result(timeout=5).status_code == 200
    assert wait_for(app, after_status=COMPLETED, timeout=1).status_code == 200
    assert len(waiting) == 0


def from_address(app: Flask, address: str, path: str = WAIT, **query: Any) -> TestResponse:
    headers = {"X-Forwarded-For": address}
    return app.test_client().get(path, query_string={"transfer_id": ID} | query, headers=headers)


def test_one_network_gets_limited_places(open_app: OpenApp) -> None:
    app = open_app(doors=("api", "wait"), wait_limit=8, trusted_proxies=1)
    configure(app)
    report_events(app, sent(ID))
    waiting = part_of(app, Waiting)
    with ThreadPoolExecutor() as threads:
        places = [
            threads.submit(from_address, app, f"2001:db8:0:a::{n}", after_status=SUBMITTING) for n in (1, 2)
        ]
        eventually(lambda: len(waiting) == 2)
        for path, shape in ((WAIT, STATUS), (EVENTS, None)):
            refused = from_address(app, "2001:db8:0:a:ffff::9", path, after_status=SUBMITTING)
            msg = assert_refused(refused, 429, "rate_limited", shape)
            assert msg == (
                "2 callers of your network wait already: request the status instead, and wait again later"
            )
            assert refused.headers["Retry-After"] == "5"
        assert from_address(app, "2001:db8:0:a::3").status_code == 200  # this one is answered at once
        for address in ("2001:db8:0:b::1", "192.0.2.1", "192.0.2.2"):
            places.append(threads.submit(from_address, app, address, after_status=SUBMITTING))
        eventually(lambda: len(waiting) == 5)
        report_events(app, released(ID, timedelta(seconds=5)))
        assert [place.result(timeout=5).status_code for place in places] == [200] * 5
    again = from_address(app, "2001:db8:0:a::1", after_status=COMPLETED, timeout=1)
    assert again.status_code == 200, "a wait that ended frees its place"


@pytest.mark.parametrize(
    ("query", "msg"),
    [
        ({"transfer_id": ""}, "transfer_id: is missing"),
        ({"transfer_id": "0x12"}, "transfer_id: must be"),
        ({"after_status": "-1"}, "after_status: must be a whole number"),
        ({"timeout": "soon"}, "timeout: must be a whole number"),
        ({"timeout": str(2**32)}, "timeout: must be at most"),
    ],
)
def test_malformed_wait_is_refused(app: Flask, query: dict[str, str], msg: str) -> None:
    assert msg in assert_refused(wait_for(app, **query), 400, "bad_request", STATUS)


def test_methods_other_than_get(app: Flask) -> None:
    client = app.test_client()
    assert_refused(client.post(WAIT), 405, "method_not_allowed", STATUS)
    preflight = client.options(WAIT)
    assert preflight.headers["Access-Control-Allow-Origin"] == "*"
    began = time.monotonic()
    head = client.head(WAIT, query_string={"transfer_id": ID, "after_status": SUBMITTING})
    assert (head.status_code, head.get_data()) == (200, b"")
    assert time.monotonic() - began < 10


def test_outage_ends_the_wait_with_error(
    app: Flask, in_background: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending = in_background(after_status=SUBMITTING, timeout=1)

    def fail(*_: Any) -> Any:
        raise OperationalError("", {}, Exception())

    monkeypatch.setattr("app.waiting.register.load_heads", fail)
    assert_refused(pending.result(timeout=5), 503, "unavailable", STATUS)
    assert len(part_of(app, Waiting)) == 0


def test_change_is_answered_after_an_outage(
    app: Flask, in_background: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending = in_background(after_status=SUBMITTING)
    with monkeypatch.context() as broken:
        broken.setattr("app.waiting.register.load_heads", lambda _: 1 // 0)
        time.sleep(0.3)  # a look that had begun is over
        report_events(app, released(ID, timedelta(seconds=5)))
        time.sleep(0.3)
        assert not pending.done()
    assert pending.result(timeout=5).get_json()["status"] == COMPLETED


def test_wait_is_no_default_interface(open_app: OpenApp) -> None:
    assert "wait" not in ALL_DOORS
    assert_refused(open_app().test_client().get(WAIT), 404, "path_not_found", None)
    only_wait = open_app(doors=("wait",))
    assert_refused(only_wait.test_client().get(WAIT), 400, "bad_request", STATUS)
    assert part_of(only_wait, Waiting).limit == 5_000
    assert part_of(open_app(doors=("wait", "api")), Waiting).limit == 200
