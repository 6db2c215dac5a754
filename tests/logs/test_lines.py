"""Nobody outside can write a line of the log, whatever they send."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator

import pytest

from app.domain.wire_values import printable
from app.logs.heads import audit_heads
from app.logs.lines import LineFormatter
from app.logs.processes import format_handlers

MAC = "ab" * 32
FORGED = f"2026-11-21T12:00:00+0000 INFO 1 app.services.audit.record: audit head 5:{MAC} sign_in by x"
ENDS_OF_LINES = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
STARTS_OF_LINES = re.compile(r"^(\d{4}-\d\d-\d\dT|  \| )")


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A logger of its own, and what it writes as the gateway does."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    logger = logging.getLogger("app.services.audit.record.test")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield logger, stream
    logger.removeHandler(handler)


@pytest.mark.parametrize("end", ENDS_OF_LINES)
def test_a_line_break_in_a_message_ends_no_line(log: tuple[logging.Logger, io.StringIO], end: str) -> None:
    logger, stream = log
    logger.info("%s answered", f"/x{end}{FORGED}")
    written = stream.getvalue()
    assert len(written.splitlines()) == 1
    assert not list(audit_heads(io.StringIO(written)))


@pytest.mark.parametrize("end", ENDS_OF_LINES)
def test_a_traceback_has_marked_lines(log: tuple[logging.Logger, io.StringIO], end: str) -> None:
    logger, stream = log
    try:
        raise ValueError(f"x{end}{FORGED}")
    except ValueError:
        for _ in range(2):  # the second finds the traceback that the first one cached
            logger.warning("failed", exc_info=True, stack_info=True)
    lines = stream.getvalue().splitlines()
    assert all(STARTS_OF_LINES.match(line) for line in lines)
    assert sum(line.startswith("2026") or not line.startswith("  |") for line in lines) == 2
    assert "Traceback" in stream.getvalue()
    assert not list(audit_heads(lines))


@pytest.mark.parametrize(
    "hidden",
    ["\x1b[2J", "\x9b2J", "\x07", "\x08", "\0", "\u202e", "\u200b", "\ud800", "\x7f"],
    ids=lambda text: f"{ord(text[0]):x}",  # xdist cannot name a test by a lone surrogate
)
def test_nothing_steers_a_terminal(hidden: str) -> None:
    # Not by a logger: pytest keeps what is logged, and cannot pass a lone surrogate on to another process.
    written = LineFormatter().format(logging.makeLogRecord({"msg": "a%sb", "args": (hidden,)}))
    assert hidden not in written
    assert written.isprintable()
    assert written.encode()


def test_what_can_be_read_stays_as_it_is() -> None:
    for text in ("", "GET /admin/ answered 500", "Zürich, 東京: 1 €, C:\\new"):
        assert printable(text) == text


def test_handlers_of_others_keep_their_format() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("[%(levelname)s] %(message)s"))
    format_handlers([handler], "console")
    handler.handle(logging.LogRecord("x", logging.INFO, "x", 1, "a\nb", None, None))
    assert stream.getvalue() == "[INFO] a\\nb\n"


def test_only_the_gateways_own_lines_tell_heads(log: tuple[logging.Logger, io.StringIO]) -> None:
    genuine = FORGED.replace("5:", "6:")
    others = [
        f"GET {FORGED}",
        f" {FORGED}",
        f"  | {FORGED}",
        FORGED.replace("INFO", "WARNING"),
        FORGED.replace("record:", "records:"),
        FORGED.replace(MAC, MAC[1:]),
        FORGED.replace(" 5:", f" {'5' * 19}:"),
        "\u0665".join(FORGED.split("5:")),
    ]
    assert list(audit_heads([f"{line}\n" for line in (*others, genuine)])) == [f"6:{MAC}"]


def test_commands_write_warnings_by_lines() -> None:
    """What wsgi.py sets up for a process that has no logging of its own."""
    kept = logging.lastResort
    assert kept
    before = kept.formatter
    try:
        kept.setFormatter(None)
        format_handlers([kept], "console")
        record = logging.LogRecord("x", logging.WARNING, "x", 1, "a\nb", None, None)
        assert kept.format(record) == "a\\nb"
    finally:
        kept.setFormatter(before)
