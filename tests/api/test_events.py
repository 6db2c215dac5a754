"""GET /v2/transferEvents: every change of a status, as browsers read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.http.application import part_of
from app.transfers.rules.published_changes import Position
from app.waiting import queries as touched
from app.waiting import services, views
from app.waiting.register import Waiting
from tests.api.shapes import assert_refused
from tests.api.world import ADDRESS, NOW, configure, event, released, report_events, sent
from tests.applications import OpenApp
from tests.site.snippets import block_of

RESET = block_of("docs/waiting.md", "id: 99310")
RUN = [RESET]
EVENTS = "/v2/transferEvents"
ID = "0x" + "5a" * 32
OTHER = "0x" + "a5" * 32
MOST_COMMENTS = 30


@pytest.fixture
def app(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> Flask:
    monkeypatch.setattr(views, "HEARTBEAT_SECONDS", 0.3)
    app = open_app(doors=("api", "wait"))
    configure(app)
    report_events(app, sent(ID))
    return app


class Stream:
    """A stream as it is read: blocks of lines, each a mapping of fields; comments have no name."""

    def __init__(self, app: Flask, last_id: str = "", **query: str) -> None:
        headers = {"Last-Event-ID": last_id} if last_id else {}
        self.response = app.test_client().get(EVENTS, query_string=query, headers=headers, buffered=False)
        assert self.response.status_code == 200, self.response.text
        self._blocks = self._read(self.response.iter_encoded())
        self.opening = next(self._blocks)

    def _read(self, pieces: Iterator[bytes]) -> Iterator[dict[str, str]]:
        for piece in pieces:
            for block in piece.decode().split("\n\n")[:-1]:
                yield dict(line.split(": ", 1) for line in block.split("\n"))

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()

    def next(self) -> dict[str, str]:
        """The next block."""
        return next(self._blocks)

    def event(self) -> dict[str, str]:
        """The next event; comments before it are ignored."""
        for _ in range(MOST_COMMENTS):
            if "data" in (block := self.next()):
                return block
            assert set(block) == {"", "id"}
        raise AssertionError("no event comes")


def data(block: dict[str, str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(block["data"])["data"]
    return document


def test_transfer_stream_begins_at_first_status(app: Flask) -> None:
    with Stream(app, transfer_id=ID) as stream:
        assert stream.opening == {"retry": "2000", "id": "0"}
        first = stream.event()
        assert first["event"] == "transfer.status"
        assert json.loads(first["data"]) == {
            "type": "transfer.status",
            "timestamp": NOW.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "data": {
                "transfer_id": ID, "status": 1, "previous_status": 0, "refund_reason": 0,
                "seq": int(first["id"]),
            },
        }  # fmt: skip
        report_events(app, sent(OTHER), released(ID, timedelta(seconds=5)))
        assert data(stream.event())["status"] == 5
        report_events(
            app, event("chain.reorged", chain_id=56, from_block=1), event("chain.head", chain_id=1, block=9)
        )
    assert len(part_of(app, Waiting)) == 0


def test_headers_are_those_of_a_stream(app: Flask) -> None:
    with Stream(app, transfer_id=ID) as stream:
        headers = stream.response.headers
        assert headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Access-Control-Allow-Origin"] == "*"
        assert headers["X-Accel-Buffering"] == "no"
        assert "Content-Length" not in headers
    head = app.test_client().head(EVENTS, query_string={"transfer_id": ID})
    assert (head.status_code, head.get_data()) == (200, b"")
    assert len(part_of(app, Waiting)) == 0


def test_account_stream_begins_now(app: Flask) -> None:
    with Stream(app, account=ADDRESS.upper().removeprefix("0X")) as stream:
        begun = int(stream.opening["id"])
        report_events(app, sent(OTHER))
        received = stream.event()
        assert (data(received)["transfer_id"], data(received)["seq"]) == (OTHER, begun + 1)
        report_events(app, sent("0x" + "11" * 32, sender="0x" + "22" * 20, receiver="0x" + "33" * 20))
        report_events(app, released(ID, timedelta(seconds=5)))
        received = stream.event()
        assert (data(received)["transfer_id"], data(received)["previous_status"]) == (ID, 1)


def test_comments_report_progress_in_silence(app: Flask) -> None:
    """Their ids show how far all was sent."""
    with Stream(app, transfer_id=ID) as stream:
        first = stream.event()
        report_events(app, sent(OTHER), released(OTHER, timedelta(seconds=5)))
        for _ in range(5):
            block = stream.next()
            assert set(block) == {"", "id"}
        assert int(block["id"]) == int(first["id"]) + 2


@pytest.mark.parametrize("by_header", [True, False])
def test_stream_resumes_after_last_event(app: Flask, by_header: bool) -> None:
    with Stream(app, transfer_id=ID) as stream:
        last = stream.event()["id"]
    report_events(app, event("transfer.confirmed", transfer_id=ID))
    report_events(app, released(ID, timedelta(seconds=5)))
    again = {"last_id": last} if by_header else {"last_event_id": last}
    with Stream(app, transfer_id=ID, **again) as stream:
        assert stream.opening["id"] == last
        assert [data(stream.event())["status"] for _ in range(2)] == [3, 5]


def test_lagging_account_stream_rereads_statuses(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    report_events(
        app, *(sent(f"0x{n:064x}", sender="0x" + "22" * 20, receiver="0x" + "33" * 20) for n in range(1, 5))
    )
    monkeypatch.setattr(touched, "MOST_BEHIND", 3)
    with Stream(app, "1", account=ADDRESS) as stream:
        received = stream.event()
        assert (received["event"], received["id"]) == ("reset", "5")
        shown = RESET.code.replace("99310", "5")
        assert [f"{name}: {received[name]}" for name in ("id", "event", "data")] == shown.splitlines()
        report_events(app, released(ID, timedelta(seconds=5)))
        assert data(stream.event())["status"] == 5


@pytest.mark.parametrize("query", [{"transfer_id": ID}, {"account": ADDRESS}])
def test_client_ahead_of_the_log_is_reset(app: Flask, query: dict[str, str]) -> None:
    """After a restore from a backup the log ends earlier than it did."""
    with Stream(app, "5000", **query) as stream:
        received = stream.event()
        assert (received["event"], received["id"]) == ("reset", "1")
        report_events(app, released(ID, timedelta(seconds=5)))
        assert data(stream.event())["status"] == 5


def test_late_replica_is_no_shorter_log(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    report_events(app, event("transfer.confirmed", transfer_id=ID))
    monkeypatch.setattr(services, "present_position", lambda _database: Position(1))
    with Stream(app, "2", transfer_id=ID) as stream:
        report_events(app, released(ID, timedelta(seconds=5)))
        assert data(stream.event())["status"] == 5


def test_change_at_a_heartbeat_is_sent(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread may publish a change between the two reads of the stream."""

    class Late(services.Follower):
        """A change comes right after ``behind`` was read as false for a heartbeat."""

        __slots__ = ("_late",)

        @property
        def behind(self) -> bool:
            was = self._late
            if not was and self.was_published:
                read.append(True)
                if len(read) == 2:
                    report_events(app, released(ID, timedelta(seconds=5)))
                    part_of(app, Waiting).look()
            return was

        @behind.setter
        def behind(self, value: bool) -> None:
            self._late = value

    read: list[bool] = []
    monkeypatch.setattr(services, "Follower", Late)
    with Stream(app, transfer_id=ID) as stream:
        assert data(stream.event())["status"] == 1
        assert data(stream.event())["status"] == 5


@pytest.mark.parametrize(
    ("query", "last_id", "msg"),
    [
        ({}, "", "send either it or account"),
        ({"transfer_id": ID, "account": ADDRESS}, "", "send either it or account"),
        ({"transfer_id": "0x1"}, "", "transfer_id: must be"),
        ({"account": "x" * 129}, "", "account: must have at most 128 characters"),
        ({"account": ADDRESS[:-1]}, "", "account: must be an address: 0x and 40 hex digits, or that of"),
        ({"transfer_id": ID}, "soon", "Last-Event-ID: must be the id of an event"),
        ({"transfer_id": ID, "last_event_id": "-1"}, "", "Last-Event-ID: must be the id of an event"),
    ],
)
def test_malformed_stream_is_refused(app: Flask, query: dict[str, str], last_id: str, msg: str) -> None:
    headers = {"Last-Event-ID": last_id} if last_id else {}
    response: TestResponse = app.test_client().get(EVENTS, query_string=query, headers=headers)
    assert msg in assert_refused(response, 400, "bad_request", None)
    assert len(part_of(app, Waiting)) == 0


def test_streams_count_as_waits(open_app: OpenApp) -> None:
    app = open_app(doors=("wait",), wait_limit=1, trusted_proxies=1)
    with Stream(app, transfer_id=ID):
        elsewhere = {"X-Forwarded-For": "192.0.2.1"}
        refused = app.test_client().get(EVENTS, query_string={"transfer_id": ID}, headers=elsewhere)
        assert_refused(refused, 503, "wait_busy", None)
    with Stream(app, transfer_id=ID):
        pass


def test_stream_ends_where_reading_fails(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    with Stream(app, transfer_id=ID) as stream:
        stream.event()
        monkeypatch.setattr(views, "published_after", lambda *_: 1 // 0)
        report_events(app, released(ID, timedelta(seconds=5)))
        with pytest.raises(StopIteration):
            stream.event()


def test_late_replica_delays_no_change(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread looked at the primary; the stream reads, once, from a replica that is behind."""
    original, late = services.published_after, [2]

    def behind(*parts: Any) -> Any:
        received, after = original(*parts), parts[-1]
        if late[0]:
            late[0] -= 1
            heads = received.heads._replace(seq=received.heads.seq - 1)
            return type(received)([], after, heads)
        return received

    with Stream(app, transfer_id=ID) as stream:
        stream.event()
        monkeypatch.setattr(views, "published_after", behind)
        report_events(app, released(ID, timedelta(seconds=5)))
        assert data(stream.event())["status"] == 5
        assert late == [0]
