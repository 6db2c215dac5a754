"""Entries of the log in both formats: nobody outside can write one, and none is too long."""

from __future__ import annotations

import io
import json
import logging
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from app.cli.audit import audit_heads
from app.http.request_log import RequestLog
from app.observability.logs import (
    LONGEST,
    OPERATION,
    SERVED,
    EntryFormatter,
    LogFormat,
    Served,
    format_handlers,
)
from app.observability.private import HIDDEN
from app.values.codes import Reason
from app.values.wire_values import printable

MAC = "ab" * 32
FORGED_LINE = f"2026-11-21T12:00:00+0000 INFO 1 app.services.audit.record: audit head 5:{MAC} sign_in by x"
FORGED_ENTRY = json.dumps(
    {"level": "INFO", "logger": "app.services.audit.record", "message": f"audit head 5:{MAC} sign_in by x"}
)
ENDS_OF_LINES = [
    "\n",
    "\r",
    "\r\n",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x85",
    "\u2028",
    "\u2029",
    '"}\n',
    "\\n",
]
HIDDEN_CHARACTERS = ["\x1b[2J", "\x9b2J", "\x07", "\0", "\u202e", "\u200b", "\ud800", "\x7f"]


@pytest.fixture(params=["json", "console"])
def log(request: pytest.FixtureRequest) -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A logger of its own, and what it writes in one of the formats."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(EntryFormatter(request.param))
    logger = logging.getLogger("app.observability.test")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield logger, stream
    logger.removeHandler(handler)


def formatted(**record: Any) -> dict[str, Any]:
    """A record as an entry."""
    text = EntryFormatter("json").format(logging.makeLogRecord(record))
    assert "\n" not in text
    entry: dict[str, Any] = orjson.loads(text)
    return entry


@pytest.mark.parametrize("end", ENDS_OF_LINES)
def test_logged_text_forges_no_entry(log: tuple[logging.Logger, io.StringIO], end: str) -> None:
    logger, stream = log
    for forged in (FORGED_LINE, FORGED_ENTRY):
        logger.info("%s answered", f"/x{end}{forged}")
        logger.info("%s", f"{forged}{end}")
        try:
            raise ValueError(f"x{end}{forged}")
        except ValueError:
            logger.warning("failed", exc_info=True, stack_info=True)
    lines = stream.getvalue().splitlines()
    begins = [line for line in lines if line.startswith(("20", "{"))]
    assert len(begins) == 6
    assert all(line in begins or line.startswith("  | ") for line in lines)
    assert not list(audit_heads(lines))


@pytest.mark.parametrize("hidden", HIDDEN_CHARACTERS, ids=lambda text: f"{ord(text[0]):x}")
def test_nothing_steers_a_terminal(hidden: str) -> None:
    error = ValueError(f"c{hidden}d")
    entry = formatted(msg="a%sb", args=(hidden,), exc_info=(ValueError, error, None))
    for text in (entry["message"], *entry["exception"].split("\n")):
        assert text.isprintable()
        assert hidden not in text
    assert entry["exception"].endswith("d")
    written = EntryFormatter("console").format(logging.makeLogRecord({"msg": "a%sb", "args": (hidden,)}))
    assert written.isprintable()
    assert written.encode()


def test_entry_has_time_place_and_message() -> None:
    at = datetime(2026, 11, 22, 14, 5, 6, 7, tzinfo=UTC)
    entry = formatted(
        name="app.http.errors", levelname="ERROR", created=at.timestamp(), process=7, msg="%s!", args=("hm",)
    )
    assert entry == {
        "time": "2026-11-22T14:05:06.000007Z",
        "level": "ERROR",
        "logger": "app.http.errors",
        "pid": 7,
        "message": "hm!",
    }


def only_message() -> EntryFormatter:
    return EntryFormatter("console", logging.Formatter("%(message)s"))


def test_log_formats_have_the_request_id() -> None:
    token = SERVED.set(Served("abc-1", {OPERATION: "grpcweb.EstimateAmt"}))
    try:
        entry = formatted(msg="x")
        line = only_message().format(logging.makeLogRecord({"msg": "x"}))
    finally:
        SERVED.reset(token)
    assert (entry["request_id"], entry["operation"]) == ("abc-1", "grpcweb.EstimateAmt")
    assert line == "x (request abc-1)"
    assert "request_id" not in formatted(msg="x")


def test_secrets_are_hidden_in_tracebacks(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, stream = log
    secret = "gwk_0123456789abcdef" + "Z" * 43
    wallet = "0x" + "5a" * 20
    text = f"{secret} of 203.0.113.7"
    try:
        raise ValueError(text)
    except ValueError:
        logger.exception("%s of %s", secret, wallet)
    written = stream.getvalue()
    assert secret not in written
    assert "203.0.113.7" not in written
    assert (written.count(HIDDEN), wallet in written) == (3, True)


def test_heads_are_found_in_both_formats() -> None:
    message = f"audit head 6:{MAC} network.edit by ops@example.org"
    genuine = EntryFormatter("json").format(
        logging.makeLogRecord({"name": "app.services.audit.record", "levelname": "INFO", "msg": message})
    )
    parts = json.loads(genuine)
    others = [
        json.dumps(parts | {"logger": "app.http.errors"}),
        json.dumps(parts | {"level": "WARNING"}),
        json.dumps(parts | {"message": f"x {message}"}),
        json.dumps(parts | {"message": [message]}),
        json.dumps(parts | {"message": message.replace(MAC, MAC[1:])}),
        json.dumps({"message": genuine}),
        json.dumps([parts]),
        f" {genuine}",
        f"x{genuine}",
        genuine[:-1],
        "{}",
        "{",
    ]
    assert list(audit_heads([f"{line}\n" for line in (*others, genuine)])) == [f"6:{MAC}"]
    assert list(audit_heads([genuine, FORGED_LINE])) == [f"6:{MAC}", f"5:{MAC}"]


def test_only_own_lines_are_heads() -> None:
    genuine = FORGED_LINE.replace("5:", "6:")
    others = [
        f"GET {FORGED_LINE}",
        f" {FORGED_LINE}",
        f"  | {FORGED_LINE}",
        FORGED_LINE.replace("INFO", "WARNING"),
        FORGED_LINE.replace("record:", "records:"),
        FORGED_LINE.replace(MAC, MAC[1:]),
        FORGED_LINE.replace(" 5:", f" {'5' * 19}:"),
        "\u0665".join(FORGED_LINE.split("5:")),
    ]
    assert list(audit_heads([f"{line}\n" for line in (*others, genuine)])) == [f"6:{MAC}"]


def test_readable_text_stays_unchanged() -> None:
    for text in ("", "GET /admin/ answered 500", "Zürich, 東京: 1 €, C:\\new"):
        assert printable(text) == text


def test_format_handlers_retains_foreign_format() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("[%(levelname)s] %(message)s"))
    format_handlers([handler], "console")
    handler.handle(logging.LogRecord("x", logging.INFO, "x", 1, "a\nb", None, None))
    assert stream.getvalue() == "[INFO] a\\nb\n"


@pytest.mark.parametrize("text", ["x", "\\", '"', "\n", "€", "\U0001f600", "\u202e"])
@pytest.mark.parametrize("length", [2000, LONGEST, 100_000])
@pytest.mark.parametrize("log_format", ["json", "console"])
def test_lines_are_bounded_and_informative(log_format: LogFormat, length: int, text: str) -> None:
    error = ValueError(f"begins{text * length}ends")
    token = SERVED.set(Served("r" * 64, {OPERATION: "v2.get_transfer"}))
    try:
        for traced in (None, (ValueError, error, None)):
            record = logging.makeLogRecord(
                {"name": "app.x", "msg": f"begins{text * length}", "exc_info": traced}
            )
            lines = EntryFormatter(log_format).format(record).split("\n")
            sizes = [len(line.encode()) + 1 for line in lines]
            assert max(sizes) <= LONGEST
            assert "begins" in lines[0]
            assert "r" * 64 in lines[0]
            if log_format == "json":
                entry = orjson.loads(lines[0])
                assert ("exception" in entry) == (traced is not None)
                assert entry.get("exception", "ends").endswith("ends")
            if length >= LONGEST:
                assert max(sizes) > LONGEST - 16
    finally:
        SERVED.reset(token)


def test_request_entry_has_known_fields(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "app.http.request_log")
    log, served = RequestLog("all"), Served("r-1", {OPERATION: "v2.x"})
    served.began -= 2
    log.note(served, 200, None)
    served.trace_id = "f" * 32
    log.note(served, 404, Reason.PATH_NOT_FOUND.value)
    first, second = (orjson.loads(EntryFormatter("json").format(record)) for record in caplog.records)
    assert 2000 < first["duration_ms"] < second["duration_ms"] < 60_000
    assert first["message"].startswith("v2.x answered 200 in 2")
    known = {"request_id": "r-1", "operation": "v2.x", "code": 200}
    assert first.items() >= known.items()
    assert {"trace_id", "reason"}.isdisjoint(first)
    further = {"code": 404, "reason": "path_not_found", "trace_id": "f" * 32}
    assert second.items() >= (known | further).items()
    assert only_message().format(caplog.records[0]).endswith(" ms (request r-1)")


def test_settled_request_releases_environment() -> None:
    """Thousands may wait for an answer."""

    class Environment(dict[str, Any]):
        """One that can be looked for."""

    environment = Environment({OPERATION: "v2.x"})
    served, left = Served("r-1", environment), weakref.ref(environment)
    served.settle()
    del environment
    assert left() is None
    assert served.operation == "v2.x"
