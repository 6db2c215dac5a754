"""Entries as JSON: what lines hold for, holds for them, too."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from app.logs.entries import EntryFormatter
from app.logs.heads import audit_heads
from app.logs.lines import LineFormatter
from app.logs.private import HIDDEN
from app.logs.processes import format_handlers
from app.logs.served import OPERATION, SERVED, Served

MAC = "ab" * 32
FORGED_LINE = f"2026-11-21T12:00:00+0000 INFO 1 app.services.audit.record: audit head 5:{MAC} sign_in by x"
FORGED_ENTRY = json.dumps(
    {"level": "INFO", "logger": "app.services.audit.record", "message": f"audit head 5:{MAC} sign_in by x"}
)
ENDS_OF_LINES = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", '"}\n', "\\n"]
HIDDEN_CHARACTERS = ["\x1b[2J", "\x9b2J", "\x07", "\0", "\u202e", "\u200b", "\ud800", "\x7f"]


@pytest.fixture(params=["json", "console"])
def log(request: pytest.FixtureRequest) -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A logger of its own, and what it writes in one of the formats."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    format_handlers([handler], request.param)
    if request.param == "console":
        handler.setFormatter(LineFormatter())
    logger = logging.getLogger("app.logs.test")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield logger, stream
    logger.removeHandler(handler)


def formatted(**record: Any) -> dict[str, Any]:
    """A record as an entry."""
    text = EntryFormatter().format(logging.makeLogRecord(record))
    assert "\n" not in text
    entry: dict[str, Any] = orjson.loads(text)
    return entry


@pytest.mark.parametrize("end", ENDS_OF_LINES)
def test_nothing_that_is_logged_is_another_entry(log: tuple[logging.Logger, io.StringIO], end: str) -> None:
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


def test_an_entry_says_when_where_and_what() -> None:
    at = datetime(2026, 11, 22, 14, 5, 6, 7, tzinfo=UTC)
    entry = formatted(
        name="app.api.errors", levelname="ERROR", created=at.timestamp(), process=7, msg="%s!", args=("hm",)
    )
    assert entry == {
        "time": "2026-11-22T14:05:06.000007Z",
        "level": "ERROR",
        "logger": "app.api.errors",
        "pid": 7,
        "message": "hm!",
    }


def test_an_exception_is_within_its_entry() -> None:
    try:
        raise KeyError("what")
    except KeyError as caught:
        entry = formatted(msg="failed", exc_info=(KeyError, caught, caught.__traceback__))
    lines = entry["exception"].split("\n")
    assert (lines[0], lines[-1]) == ("Traceback (most recent call last):", "KeyError: 'what'")


def test_what_is_logged_for_a_request_has_its_id_in_both_formats() -> None:
    token = SERVED.set(Served("abc-1", {OPERATION: "grpcweb.EstimateAmt"}))
    try:
        entry = formatted(msg="x")
        line = LineFormatter("%(message)s").format(logging.makeLogRecord({"msg": "x"}))
    finally:
        SERVED.reset(token)
    assert (entry["request_id"], entry["operation"]) == ("abc-1", "grpcweb.EstimateAmt")
    assert line == "x (request abc-1)"
    assert "request_id" not in formatted(msg="x")


def test_secrets_are_hidden_in_messages_and_tracebacks(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, stream = log
    secret = "gwk_0123456789abcdef" + "Z" * 43
    wallet = "0x" + "5a" * 20
    told = f"{secret} of 203.0.113.7"
    try:
        raise ValueError(told)
    except ValueError:
        logger.exception("%s of %s", secret, wallet)
    written = stream.getvalue()
    assert secret not in written
    assert "203.0.113.7" not in written
    assert (written.count(HIDDEN), wallet in written) == (3, True)


def test_heads_are_found_in_both_formats() -> None:
    message = f"audit head 6:{MAC} network.edit by ops@example.org"
    genuine = EntryFormatter().format(
        logging.makeLogRecord({"name": "app.services.audit.record", "levelname": "INFO", "msg": message})
    )
    parts = json.loads(genuine)
    others = [
        json.dumps(parts | {"logger": "app.api.errors"}),
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
