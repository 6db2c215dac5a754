"""Heads are noted in files and syslogs; a place that fails is told of, and holds nothing up."""

from __future__ import annotations

import logging
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.audit.keys import Anchors, Place, anchored_heads, place_of
from tests.audit.anchors.receivers import Stream, hanging, receiver

AT = datetime(2026, 11, 22, 12, 0, 0, 5, tzinfo=UTC)
FIRST, SECOND, THIRD = (f"{n}:{str(n) * 64}" for n in (1, 2, 3))


class Kept:
    """A place that fails while it is told to."""

    name = "somewhere"

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.fails = False
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def note(self, head: str, at: datetime) -> None:
        self.may_go_on.wait(10)
        if self.fails:
            raise OSError(28, "No space left on device")
        self.heads.append(head)


def noted(anchors: Anchors, *heads: str) -> None:
    for head in heads:
        anchors.note(head, AT)
    anchors.flush()


def test_a_file_only_grows(tmp_path: Path) -> None:
    file = tmp_path / "heads"
    file.write_text("what stood there\n")
    noted(Anchors([place_of(f"file:{file}")]), FIRST, SECOND)
    assert file.read_text() == (
        "what stood there\n"
        f"2026-11-22T12:00:00.000005Z audit head {FIRST}\n2026-11-22T12:00:00.000005Z audit head {SECOND}\n"
    )
    with file.open() as lines:
        assert list(anchored_heads(lines)) == [FIRST, SECOND]


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    noted(Anchors([place_of(f"file:{tmp_path}/heads%20of")]), FIRST)
    assert (tmp_path / "heads of").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["udp", "tcp", "unix"])
def test_a_syslog(kind: str, tmp_path: Path) -> None:
    with receiver(kind, tmp_path) as (url, server):
        anchors = Anchors([place_of(url)])
        noted(anchors, FIRST, SECOND)
        lines = [server.next(), server.next()]
        assert all(line.startswith("<86>transfer-gateway[") for line in lines), lines
        written = [f"Nov 22 12:00:00 host {line.removeprefix('<86>')}\n" for line in lines]
        assert list(anchored_heads(written)) == [FIRST, SECOND]
        assert anchors.complaint() is None


def test_a_syslog_that_comes_back(tmp_path: Path) -> None:
    with receiver("tcp", tmp_path) as (url, server):
        assert isinstance(server, Stream)
        anchors = Anchors([place_of(url)])
        noted(anchors, FIRST)
        server.next()
        port = server.socket.getsockname()[1]
        server.socket.close()
        server.close()
        until = time.monotonic() + 10
        while anchors.complaint() is None:  # the first that is written into a dead connection seems to arrive
            noted(anchors, SECOND)
            assert time.monotonic() < until
        server.socket = __import__("socket").create_server(("127.0.0.1", port))
        server.socket.settimeout(10)
        server._peer, server._read = None, b""
        noted(anchors, THIRD)
        assert server.next().endswith(THIRD)
        assert anchors.complaint() is None
        server.close()
        server.socket.close()


def test_failure_and_end_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    good, bad = Kept(), Kept()
    good.name, bad.fails = "elsewhere", True
    anchors = Anchors([bad, good])
    with caplog.at_level(logging.INFO):
        noted(anchors, FIRST, SECOND)
        assert anchors.complaint() == "somewhere: No space left on device"
        assert good.heads == [FIRST, SECOND], "one place does not hold up another"
        bad.fails = False
        noted(anchors, THIRD)
    assert (bad.heads, anchors.complaint()) == ([THIRD], None)
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


def test_newest_head_is_retried() -> None:
    place = Kept()
    place.fails = True
    anchors = Anchors([place], retry_seconds=0.01)
    noted(anchors, FIRST, SECOND)
    place.fails = False
    until = time.monotonic() + 10
    while anchors.complaint() and time.monotonic() < until:
        time.sleep(0.01)
    assert place.heads == [SECOND]


def test_a_place_that_hangs_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.audit.keys._MOST", 3)
    place = Kept()
    place.may_go_on.clear()
    anchors = Anchors([place])
    began = time.monotonic()
    for _ in range(10):
        anchors.note(FIRST, AT)
    anchors.flush(0.01)
    assert time.monotonic() - began < 5
    assert "they hang" in (anchors.complaint() or "")
    place.may_go_on.set()
    noted(anchors, SECOND)
    assert anchors.complaint() is None
    assert place.heads[-1] == SECOND


@pytest.mark.parametrize("silent", ["before it is connected", "afterwards"])
def test_hanging_syslog_delays_no_other_anchor(
    silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.audit.keys.TIMEOUT_SECONDS", 0.2)
    place = Kept()
    with hanging(tmp_path, accepts=silent == "afterwards") as url:
        anchors = Anchors([place_of(url), place])
        began = time.monotonic()
        for number in range(100, 3_000):  # as much as a socket takes by itself
            anchors.note(f"{number}:{'0' * 64}", AT)
            if number % 500 == 0:
                anchors.flush()
        anchors.flush()
    assert place.heads[-1].startswith("2999:")
    assert len(place.heads) == 2_900
    assert url in (anchors.complaint() or "")
    assert time.monotonic() - began < 4


def test_no_failure_ends_what_notes(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Kept):
        def note(self, head: str, at: datetime) -> None:
            if self.fails:
                raise ValueError("whatever it is")
            super().note(head, at)

    place = Broken()
    place.fails = True
    anchors = Anchors([place])
    noted(anchors, FIRST)
    assert anchors.complaint() == "somewhere: whatever it is"
    place.fails = False
    noted(anchors, SECOND)
    assert (place.heads, anchors.complaint()) == ([SECOND], None)


def test_without_a_place_there_is_no_thread() -> None:
    before = threading.active_count()
    Anchors().note(FIRST, AT)
    assert threading.active_count() == before


def test_only_heads_that_were_noted_are_read() -> None:
    good = f"2026-11-22T12:00:00.000005Z audit head {FIRST}"
    assert list(anchored_heads([f"{good}\r\n", good[:-1], f"{good} x", f"said: {good}", ""])) == [FIRST]
    body = '{"type":"%s","timestamp":"x","data":{"subject":"audit log","detail":"%s","holds":true}}'
    lines = [body % ("alert.audit_head", SECOND), body % ("alert.stuck", THIRD), "{", "[]", '{"type": 1}']
    assert list(anchored_heads(lines)) == [SECOND]


_: Place = Kept()
