"""Entries for a full pipe or socket are dropped and counted, and nothing waits."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from app.observability.logs import LONGEST, DroppingStream, drop_when_full

Ends = tuple[TextIO, int]
"""What is written to, and what reads."""


@pytest.fixture(params=["pipe", "socket"])
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    if request.param == "pipe":
        read, write = os.pipe()
    else:
        reader, writer = socket.socketpair()
        read, write = reader.detach(), writer.detach()
    with os.fdopen(write, "w") as stream:
        yield stream, read
    os.close(read)


def read_all(descriptor: int) -> str:
    os.set_blocking(descriptor, False)
    found = b""
    try:
        while piece := os.read(descriptor, 1_000_000):
            found += piece
    except BlockingIOError:
        pass
    return found.decode()


def test_dropped_entries_are_counted_by_next(ends: Ends, caplog: pytest.LogCaptureFixture) -> None:
    stream, read = ends
    place = DroppingStream(stream)
    line = "x" * (LONGEST - 1) + "\n"
    for _ in range(1000):
        place.write(line)
    assert not caplog.messages
    found = read_all(read)
    assert found.replace(line, "") == ""
    place.write("after\n")
    lost = 1000 - found.count("\n")
    assert 0 < lost < 1000
    assert caplog.messages == [f"{lost} log entries were dropped: their reader was too slow"]
    assert read_all(read) == "after\n"
    place.write("later\n")
    assert len(caplog.messages) == 1


def test_long_entry_is_written_by_lines(ends: Ends) -> None:
    stream, read = ends
    lines = [f"{number} {'ä' * 500}\n" for number in range(30)]
    DroppingStream(stream).write("".join(lines))
    assert read_all(read) == "".join(lines)


def test_sharing_pipe_stays_blocking(ends: Ends) -> None:
    stream, _ = ends
    before = os.get_blocking(stream.fileno())
    DroppingStream(stream).write("x\n")
    assert before
    assert os.get_blocking(stream.fileno()) == (os.fstat(stream.fileno()).st_mode & 0o170000 == 0o010000)


def test_file_in_place_of_pipe_is_written(tmp_path: Path) -> None:
    """A server that becomes a daemon, or captures what is printed, puts a file in place of a pipe."""
    read, write = os.pipe()
    with os.fdopen(write, "w") as stream:
        place = DroppingStream(stream)
        place.write("into the pipe\n")
        with (tmp_path / "log").open("w") as file:
            print("by somebody else", file=file, flush=True)
            os.dup2(file.fileno(), stream.fileno())
            place.write("into the file\n")
            print("and again", file=file, flush=True)
    assert os.read(read, 100) == b"into the pipe\n"
    assert os.read(read, 100) == b"", "nothing holds the pipe open"
    os.close(read)
    assert (tmp_path / "log").read_text() == "by somebody else\ninto the file\nand again\n"


def test_drop_when_full_leaves_file_handlers(tmp_path: Path) -> None:
    with (tmp_path / "other").open("w") as stream:
        handlers = [logging.FileHandler(tmp_path / "log"), logging.StreamHandler(stream)]
        drop_when_full(handlers)
        assert [isinstance(each.stream, DroppingStream) for each in handlers] == [False, True]
        handlers[0].close()
