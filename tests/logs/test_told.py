"""Several entries in one record: each is what it would be alone, and a piece of them is one write."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import weakref
from typing import Any, Final

import pytest
from flask import Flask

from app.domain.codes import Reason
from app.grpcweb import gateway_pb2
from app.http.request_log import RequestLog
from app.logs.batch import TOGETHER
from app.logs.entries import EntryFormatter
from app.logs.lines import LineFormatter
from app.logs.processes import LogFormat, formatter_of
from app.logs.served import OPERATION, Served
from app.logs.told import Several, Told

KEPT_TOGETHER: Final = 4096
"""Bytes that one write puts into a pipe undivided (PIPE_BUF of Linux)."""

WRITER = """
import logging, sys
from app.logs.batch import TOGETHER
from app.logs.processes import log_to_stderr
from app.logs.told import Several, Told
log_to_stderr(sys.argv[1], "INFO")
record = logging.LogRecord("app.x", logging.INFO, "", 0, "", None, None)
record.msg = Several(Told(n, "x" * 250, {"request_id": str(n)}) for n in range(TOGETHER))
logging.getLogger("app.x").handle(record)
"""


def record_of(*entries: Told) -> logging.LogRecord:
    record = logging.LogRecord("app.http.request_log", logging.INFO, "", 0, "", None, None)
    record.msg = Several(entries)
    return record


def test_each_is_an_entry_of_its_own() -> None:
    two = (
        Told(0.25, "a answered 200 in 1.0 ms", {"request_id": "r-1", "code": 200}),
        Told(1.5, "b answered 404 in 2.0 ms", {"request_id": "r-2", "code": 404, "reason": "path_not_found"}),
    )
    entries = [json.loads(line) for line in EntryFormatter().format(record_of(*two)).split("\n")]
    own = {"level": "INFO", "logger": "app.http.request_log", "pid": os.getpid()}
    assert entries == [
        {"time": "1970-01-01T00:00:00.250000Z", "message": two[0].message} | own | two[0].fields,
        {"time": "1970-01-01T00:00:01.500000Z", "message": two[1].message} | own | two[1].fields,
    ]
    lines = LineFormatter("%(created).2f %(msecs)d %(levelname)s %(message)s").format(record_of(*two))
    assert lines.split("\n") == [
        "0.25 250 INFO a answered 200 in 1.0 ms (request r-1)",
        "1.50 500 INFO b answered 404 in 2.0 ms (request r-2)",
    ]


def test_who_does_not_know_of_them_writes_one_line() -> None:
    two = Told(0, "a answered 200 in 1.0 ms", {}), Told(0, "b answered 404 in 2.0 ms", {})
    line = logging.Formatter("%(levelname)s %(message)s").format(record_of(*two))
    assert line == "INFO a answered 200 in 1.0 ms; b answered 404 in 2.0 ms"


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_the_longest_entries_fit_into_one_write(
    app: Flask, log_format: LogFormat, caplog: pytest.LogCaptureFixture
) -> None:
    methods = gateway_pb2.DESCRIPTOR.services_by_name["Web"].methods_by_name
    longest = max([*app.view_functions, *(f"grpcweb.{name}" for name in methods)], key=len)
    caplog.set_level(logging.INFO, "app.http.request_log")
    log = RequestLog("all")
    for _ in range(TOGETHER):
        served = Served("r" * 64, {OPERATION: longest})
        served.trace_id = "f" * 32
        served.began -= 10_000_000  # a third of a year, in seconds
        log.note(served, 200, max((reason.value for reason in Reason), key=len))
    log.flush()
    (record,) = caplog.records
    record.process = 4_194_304
    assert len(formatter_of(log_format).format(record).encode()) < KEPT_TOGETHER


def test_an_entry_has_what_is_known_of_its_request(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "app.http.request_log")
    log, served = RequestLog("all"), Served("r-1", {OPERATION: "v2.x"})
    served.began -= 2
    log.note(served, 200, None)
    served.trace_id = "f" * 32
    log.note(served, 404, Reason.PATH_NOT_FOUND.value)
    log.flush()
    first, second = caplog.records[0].msg
    assert 2000 < first.fields.pop("duration_ms") < second.fields.pop("duration_ms") < 60_000
    assert first.message.startswith("v2.x answered 200 in 2")
    assert first.fields == {"request_id": "r-1", "operation": "v2.x", "code": 200}
    further = {"code": 404, "reason": "path_not_found", "trace_id": "f" * 32}
    assert second.fields == first.fields | further


def test_a_request_that_is_settled_holds_nothing_of_its_environment() -> None:
    """Thousands may wait for an answer."""

    class Environment(dict[str, Any]):
        """One that can be looked for."""

    environment = Environment({OPERATION: "v2.x"})
    served, left = Served("r-1", environment), weakref.ref(environment)
    served.settle()
    del environment
    assert left() is None
    assert served.operation == "v2.x"


@pytest.mark.soak("processes of its own")
@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_piece_is_one_write(log_format: str) -> None:
    read, write = os.pipe2(os.O_DIRECT)  # such a pipe gives what one write put in
    try:
        subprocess.run([sys.executable, "-c", WRITER, log_format], stderr=write, check=True)
        assert os.read(read, 65_536).count(b"\n") == TOGETHER
    finally:
        os.close(read)
        os.close(write)
