"""Heads are noted in files and syslogs. A place that fails is reported, and fails no change."""

from __future__ import annotations

import logging
import os
import socket
import time
from datetime import UTC, datetime
from errno import ENOSPC
from pathlib import Path
from threading import Event, Thread
from urllib.parse import SplitResult

import pytest

from app.audit.anchors import Anchors, _append
from app.cli.audit import anchored_heads
from tests.audit.anchors.receivers import Stream, hanging, receiver

AT = datetime(2026, 11, 22, 12, 0, 0, 5, tzinfo=UTC)
FIRST, SECOND, THIRD = (f"{n}:{str(n) * 64}" for n in (1, 2, 3))


def noted(anchors: Anchors, *heads: str) -> None:
    for head in heads:
        anchors.note(head, AT)


def heads_in(file: Path) -> list[str]:
    with file.open() as lines:
        return list(anchored_heads(lines))


def test_file_only_grows(tmp_path: Path) -> None:
    file = tmp_path / "heads"
    file.write_text("what was there\n")
    noted(Anchors([f"file:{file}"]), FIRST, SECOND)
    assert file.read_text() == (
        "what was there\n"
        f"2026-11-22T12:00:00.000005Z audit head {FIRST}\n2026-11-22T12:00:00.000005Z audit head {SECOND}\n"
    )
    with file.open() as lines:
        assert list(anchored_heads(lines)) == [FIRST, SECOND]


def test_file_is_private(tmp_path: Path) -> None:
    noted(Anchors([f"file:{tmp_path}/heads%20of"]), FIRST)
    assert (tmp_path / "heads of").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["udp", "tcp", "unix"])
def test_syslog_gets_heads(kind: str, tmp_path: Path) -> None:
    with receiver(kind, tmp_path) as (url, server):
        anchors = Anchors([url])
        noted(anchors, FIRST, SECOND)
        lines = [server.next(), server.next()]
        assert all(line.startswith("<86>transfer-gateway[") for line in lines), lines
        written = [f"Nov 22 12:00:00 host {line.removeprefix('<86>')}\n" for line in lines]
        assert list(anchored_heads(written)) == [FIRST, SECOND]
        assert anchors.complaint() is None


def test_syslog_that_comes_back_gets_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.audit.anchors.RETRY_SECONDS", 0.1)
    with receiver("tcp", tmp_path) as (url, server):
        assert isinstance(server, Stream)
        anchors = Anchors([url])
        port = server.socket.getsockname()[1]
        server.socket.close()
        noted(anchors, FIRST)
        assert "Connection refused" in (anchors.complaint() or "")
        server.socket = socket.create_server(("127.0.0.1", port))
        server.socket.settimeout(10)
        assert server.next().endswith(FIRST)
        end = time.monotonic() + 10
        while anchors.complaint():
            assert time.monotonic() < end
            time.sleep(0.01)
        server.socket.close()


def test_newest_missed_head_is_noted_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("app.audit.anchors.RETRY_SECONDS", 0.2)
    good, bad = tmp_path / "heads", tmp_path / "not-there" / "heads"
    anchors = Anchors([f"file:{bad}", f"file:{good}"])
    with caplog.at_level(logging.INFO):
        noted(anchors, FIRST, SECOND)
        assert anchors.complaint() == f"{bad}: No such file or directory"
        assert heads_in(good) == [FIRST, SECOND], "one place does not delay another"
        bad.parent.mkdir()
        end = time.monotonic() + 10
        while anchors.complaint():
            assert time.monotonic() < end
            time.sleep(0.01)
    noted(anchors, THIRD)
    assert heads_in(bad) == [SECOND, THIRD]
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


def test_newest_head_is_retried_after_older_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.audit.anchors.RETRY_SECONDS", 0.2)
    place = tmp_path / "not-there" / "heads"
    anchors = Anchors([f"file:{place}"])
    began, failed = Event(), Event()

    def append(at: SplitResult, head: str, made: datetime) -> None:
        if head == FIRST:
            began.set()
            assert failed.wait(10)
        _append(at, head, made)

    monkeypatch.setattr("app.audit.anchors._append", append)
    slow = Thread(target=anchors.note, args=(FIRST, AT))
    slow.start()
    assert began.wait(10)
    noted(anchors, THIRD)
    failed.set()
    slow.join()
    noted(anchors, SECOND)  # committed before, noted after
    place.parent.mkdir()
    end = time.monotonic() + 10
    while anchors.complaint():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert heads_in(place) == [THIRD]


def test_missed_head_is_reported_after_older_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def append(_place: SplitResult, head: str, _at: datetime) -> None:
        if head == FIRST:
            noted(anchors, SECOND)
        else:
            raise OSError(ENOSPC, "full")

    monkeypatch.setattr("app.audit.anchors._append", append)
    anchors = Anchors([f"file:{tmp_path}/heads"])
    noted(anchors, FIRST)
    assert anchors.complaint() == f"{tmp_path}/heads: full"


def test_anchor_file_recovers_after_truncated_line(tmp_path: Path) -> None:
    file = tmp_path / "heads"
    anchors = Anchors([f"file:{file}"])
    noted(anchors, FIRST, SECOND)
    os.truncate(file, file.stat().st_size - 9)
    noted(anchors, THIRD)
    assert heads_in(file) == [FIRST, THIRD]


@pytest.mark.parametrize("silent", ["before it is connected", "afterwards"])
def test_hanging_syslog_delays_one_head(silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.audit.anchors.TIMEOUT_SECONDS", 0.2)
    file = tmp_path / "heads"
    with hanging(tmp_path, accepts=silent == "afterwards") as url:
        anchors = Anchors([url, f"file:{file}"])
        began = time.monotonic()
        for number in range(100, 700):  # more than a socket takes by itself
            anchors.note(f"{number}:{'0' * 64}", AT)
    assert len(heads_in(file)) == 600
    assert url in (anchors.complaint() or "")
    assert time.monotonic() - began < 30, "each of the heads waited"


def test_any_fault_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise ValueError("unexpected")

    monkeypatch.setattr("app.audit.anchors._append", fail)
    anchors = Anchors([f"file:{tmp_path}/heads"])
    noted(anchors, FIRST)
    assert anchors.complaint() == f"{tmp_path}/heads: unexpected"


def test_syslogs_are_deprecated(caplog: pytest.LogCaptureFixture) -> None:
    Anchors(["file:/var/log/heads"])
    assert not caplog.records
    Anchors(["file:/var/log/heads", "unix:/dev/log", "udp://logs.example.org:514"])
    (warning,) = caplog.messages
    assert warning.startswith(
        "AUDIT_ANCHORS: unix:/dev/log, udp://logs.example.org:514: syslogs are deprecated"
    )


def test_only_noted_heads_are_read() -> None:
    good = f"2026-11-22T12:00:00.000005Z audit head {FIRST}"
    assert list(anchored_heads([f"{good}\r\n", good[:-1], f"{good} x", f"noted: {good}", ""])) == [FIRST]
    body = '{"type":"%s","timestamp":"x","data":{"subject":"audit log","detail":"%s","holds":true}}'
    lines = [body % ("alert.audit_head", SECOND), body % ("alert.stuck", THIRD), "{", "[]", '{"type": 1}']
    assert list(anchored_heads(lines)) == [SECOND]
