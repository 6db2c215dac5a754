"""A gateway that is ended at a terminal prints at most ``stopped``, loses no count and leaves no process."""

from __future__ import annotations

import re
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import psutil
import pytest

from tests.amounts import few_or_many
from tests.serving.migrated import sqlite_url
from tests.serving.server import COMMAND, announced_in_log, environment
from tests.serving.terminals import Terminal, loaded, on_terminal

FLASK = (sys.executable, "-m", "flask", "--app", "wsgi")
ESTIMATE = "/v2/estimateAmt?src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1&slippage_tolerance=3000"
REQUESTS = 20
START_SECONDS = 3.0
OF_THE_START = re.compile(
    r"Installing|Starting|The gateway answers at |  (Documentation|Console|Workers|Stop) {2,}"
    r"| {17}(account|password|a new password)|(API|Docs|Console|Limits) {2,}"
    r"|\S+ INFO \d+ gunicorn\.error: (Starting |Listening |Using worker|Booting worker|Control socket)"
)
"""What a gateway logs while it starts: such a line may be on its way when the signal comes."""

End = Callable[[Terminal], None]
ENDS: Mapping[str, End] = {
    "Ctrl-C": Terminal.press_ctrl_c,
    "SIGTERM": Terminal.terminate,
    "closed": Terminal.close,
}
USUAL = (("watch", "Ctrl-C"), ("watch", "closed"), ("deliver", "SIGTERM"))
"""Each command and each end; a slow test tries all of them with each other."""

every_end = pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)


@pytest.fixture
def settings(tmp_path: Path, sqlite_template: Path) -> dict[str, str]:
    return environment(DATABASE_URL=sqlite_url(tmp_path, sqlite_template), AUDIT_KEY="a" * 40)


@every_end
def test_serving_gateway_ends_quietly(settings: dict[str, str], end: End) -> None:
    """Also after a reload."""
    with on_terminal([*COMMAND, "wsgi:app"], settings) as terminal:
        port = _port(terminal)
        if end is Terminal.press_ctrl_c:
            _reload(terminal)
        for _ in range(REQUESTS):
            assert _estimate(port) == 200
        terminal.wait(0.5)
        end(terminal)
        _assert_ended(terminal, end, 0)
    with closing(sqlite3.connect(settings["DATABASE_URL"].removeprefix("sqlite:///"))) as database:
        counted = database.execute("SELECT code, reason, sum(count) FROM estimate_counts GROUP BY 1, 2")
        assert counted.fetchall() == [(500, "chain_unknown", REQUESTS)]


@pytest.mark.parametrize("moments", few_or_many(len(ENDS), 20))
def test_gateway_ends_quietly_while_it_starts(settings: dict[str, str], moments: int) -> None:
    """``make run`` at one moment after the other, ended in one way after the other."""
    for number in range(moments):
        end = [*ENDS.values()][number % len(ENDS)]
        with on_terminal(["make", "run"], settings) as terminal:
            terminal.wait(START_SECONDS * (number + 0.5) / moments)
            end(terminal)
            _assert_ended(terminal, end, -signal.SIGINT if end is Terminal.press_ctrl_c else -signal.SIGTERM)


@pytest.mark.parametrize("moments", few_or_many(1, 20))
def test_new_gateway_ends_quickly(settings: dict[str, str], moments: int) -> None:
    """Its workers get the signal, even before they handle signals."""
    for number in range(moments):
        with on_terminal([*COMMAND, "wsgi:app"], settings) as terminal:
            _port(terminal)
            terminal.wait(0.02 * number)
            began = time.monotonic()
            terminal.press_ctrl_c()
            assert terminal.ended() == "stopped"
            assert time.monotonic() - began < 10, "gunicorn waits 30 s for a worker that ignores it"
            terminal.assert_nothing_left()


def test_nohup_outlives_the_terminal(settings: dict[str, str], tmp_path: Path) -> None:
    """And is reloaded by SIGHUP afterwards."""
    log = tmp_path / "log"
    log.touch()
    started = f"exec nohup {' '.join(COMMAND)} wsgi:app >{log} 2>&1"
    with on_terminal(["sh", "-c", started], settings | {"LOG_FORMAT": "json"}) as terminal:
        _, port = announced_in_log(log)
        terminal.close()
        time.sleep(1)
        assert _estimate(port) == 200
        _reload(terminal)
        assert _estimate(port) == 200
        terminal.terminate()
        terminal.ended()
        terminal.assert_nothing_left()


@pytest.mark.parametrize(
    ("command", "end"),
    [
        pytest.param(
            command,
            end,
            id=f"{command} by {name}",
            marks=() if (command, name) in USUAL else pytest.mark.slow,
        )
        for command in ("watch", "deliver")
        for name, end in ENDS.items()
    ],
)
def test_running_command_ends_quietly(settings: dict[str, str], end: End, command: str) -> None:
    with on_terminal([*FLASK, command], settings) as terminal:
        terminal.shown_until(lambda shown: "sending webhooks of" in shown or "no chain of" in shown)
        terminal.wait(0.3)
        end(terminal)
        _assert_ended(terminal, end, 0)


@pytest.mark.parametrize("command", ["events ingest -", "db upgrade", "watch", "version"])
def test_command_is_interrupted_quietly(settings: dict[str, str], command: str) -> None:
    """While it still imports; the first would wait for input."""
    with on_terminal([*FLASK, *command.split()], settings) as terminal:
        while not loaded(terminal.process, "msgspec"):
            terminal.wait(0.01)
        terminal.press_ctrl_c()
        assert terminal.ended() == "stopped"
        assert terminal.process.returncode == 128 + signal.SIGINT


def _assert_ended(terminal: Terminal, end: End, code: int) -> None:
    """It shows no more than it may, and has left nothing. Nobody sees the exit code of a closed window."""
    if end is Terminal.close:
        assert terminal.ended() == ""
    else:
        *before, last = terminal.ended().split("\n")
        assert last == "stopped"
        assert [line for line in before if not OF_THE_START.match(line)] == []
        assert terminal.process.returncode == code
    terminal.assert_nothing_left()


def _port(terminal: Terminal) -> int:
    """Of a gateway that answers."""
    found = re.compile(r"API +http://127\.0\.0\.1:(\d+)/v2/\n")
    port = found.search(terminal.shown_until(lambda shown: found.search(shown) is not None))
    assert port
    return int(port[1])


def _estimate(port: int) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", ESTIMATE)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


def _reload(terminal: Terminal) -> None:
    """By SIGHUP to the master only, as an operator does it."""
    workers = psutil.Process(terminal.process.pid).children()
    terminal.process.send_signal(signal.SIGHUP)
    _, alive = psutil.wait_procs(workers, timeout=40)
    assert alive == []
