"""What a person sees of `make run`: in a terminal, in a file, with ``VERBOSE=1``, and where it is refused."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from sqlalchemy import make_url

from app.audit.rules.records import HEADS_LOGGER
from tests.databases import new_postgres_database, run_on
from tests.serving.migrated import sqlite_url
from tests.serving.server import COMMAND, ROOT, environment
from tests.serving.terminals import on_terminal

START = [sys.executable, "-m", "scripts.start"]
LAST = "  Stop           Ctrl-C."
WORKER_LINE = "  Workers        2, because WEB_CONCURRENCY is 2\n"
OWN_LOG = re.compile(r"gunicorn\.error: (Starting gunicorn|Listening at|Using worker|Booting worker)")
SECONDS = 90
MOST_MEGABYTES = 250 - 90
SLOW = r"(\.\.\. \d+ s .*\n)"
"""Of a start that takes more than ten seconds, on a machine with much other work."""


@pytest.fixture
def settings(tmp_path: Path, sqlite_template: Path) -> dict[str, str]:
    return environment(DATABASE_URL=sqlite_url(tmp_path, sqlite_template), AUDIT_KEY="a" * 40, DOORS="admin")


@contextmanager
def running(settings: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A start that writes into a file, once the gateway answers. It is ended with the block."""
    with log.open("w") as file:
        process = subprocess.Popen(
            START, cwd=ROOT, env=settings, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    try:
        until = time.monotonic() + SECONDS
        while LAST not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        assert process.wait(40) == 0


def started(settings: dict[str, str], log: Path, **more: str) -> str:
    """What a start writes into a file until the gateway answers and has been ended."""
    with running(settings | more, log):
        pass
    return log.read_text()


def test_run_prints_one_block_into_a_file(settings: dict[str, str], tmp_path: Path) -> None:
    """The next one does not repeat the password; with ``VERBOSE=1`` it prints the log as well."""
    first = started(settings, tmp_path / "log")
    start = rf"Starting \.\.\.\n{SLOW}*\nThe gateway answers at http://127\.0\.0\.1:\d+\n\n"
    assert re.match(start, first)
    assert re.search(
        r"/admin/\n {17}account   admin@localhost\n {17}password  \S+  \(shown only this once\)\n", first
    )
    assert not [text for text in ("\x1b", "\r", " INFO ", "Limits") if text in first]
    again = started(settings, tmp_path / "log", VERBOSE="1")
    assert "password  " not in again
    assert " operators new-password admin@localhost\n" in again
    assert {found[1] for found in OWN_LOG.finditer(again)} == {
        "Starting gunicorn", "Listening at", "Using worker", "Booting worker",
    }  # fmt: skip
    for printed in (first, again):
        assert WORKER_LINE in printed


def test_first_run_needs_little_memory(settings: dict[str, str], tmp_path: Path) -> None:
    """With the sandbox and every interface; the documentation is built next to it, in a hundred more.

    A warning is shown once.
    """
    everything = settings | {"DOORS": "grpcweb,ingest,admin,wait", "INGEST_TOKENS": "short"}
    with running(everything, tmp_path / "log") as process:
        children(process, 2)
        server = psutil.Process(process.pid)
        own = sum(each.memory_full_info().pss for each in (server, *server.children())) / 10**6
    assert own < MOST_MEGABYTES
    warning = "INGEST_TOKENS: each token must have at least 16 characters"
    assert (tmp_path / "log").read_text().count(warning) == 1


@pytest.mark.parametrize(
    ("before", "logged"),
    [
        pytest.param("start_block.begin(start_block.Start((), '', False, False))", False, id="make run"),
        pytest.param("start_block.begin(start_block.Start((), '', False, True))", True, id="VERBOSE=1"),
    ],
)
def test_run_logs_heads_only_if_verbose(settings: dict[str, str], before: str, logged: bool) -> None:
    """There is one at each sign-in."""
    code = f"""
import logging, runpy
from serving import start_block
{before}
runpy.run_path("gunicorn.conf.py")
print(logging.getLogger("{HEADS_LOGGER}").isEnabledFor(logging.INFO))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=settings, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{logged}\n"


def test_run_in_a_terminal_ends_with_the_block(settings: dict[str, str]) -> None:
    with on_terminal(["env", "TERM=xterm", *START], settings) as terminal:
        shown = terminal.shown_until(lambda shown: LAST in shown)
        assert shown.startswith("\r\x1b[2KStarting ...")
        last = shown.split("\r\x1b[2K")[-1]
        assert re.match(r"\n*The gateway answers at ", last)
        assert " INFO " not in shown
        terminal.wait(0.3)
        terminal.press_ctrl_c()
        assert terminal.ended() == "stopped"


def test_refusal_replaces_the_progress(settings: dict[str, str]) -> None:
    away = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    with on_terminal(["env", "TERM=xterm", *START], settings | away) as terminal:
        last = terminal.ended().split("\x1b[2K")[-1]
    assert last.startswith("DATABASE_URL: the database postgresql+psycopg://nobody@127.0.0.1:1/none cannot ")
    assert terminal.process.returncode == 1


def test_gunicorn_alone_prints_its_log(settings: dict[str, str], tmp_path: Path) -> None:
    """And warns of a mistyped file."""
    missing = {"DATABASE_URL": f"sqlite:///{tmp_path}/mistyped/gateway.db", "DOORS": "api"}
    with on_terminal([*COMMAND, "wsgi:app"], settings | missing) as terminal:
        shown = terminal.shown_until(lambda shown: "Booting worker" in shown and "Limits" in shown)
    assert {found[1] for found in OWN_LOG.finditer(shown)} >= {"Starting gunicorn", "Listening at"}
    assert re.search(r"^API      http://", shown, re.MULTILINE)
    assert "The gateway answers" not in shown
    assert "(the file does not exist): create it with flask --app wsgi db upgrade, or correct" in shown
    assert not (tmp_path / "mistyped").exists()


@pytest.fixture
def few_connections(postgres_server: str, postgres_template: str) -> Iterator[str]:
    """The URL of a migrated database whose role may open 30 connections: those of one worker."""
    url, role = new_postgres_database(postgres_server, postgres_template), "of_one_worker"
    run_on(
        url,
        f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 30",
        f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}",
    )
    yield make_url(url).set(username=role).render_as_string(hide_password=False)
    run_on(url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@pytest.mark.parametrize(
    ("ordered", "number", "why"),
    [
        pytest.param("", 1, "the database allows 30 connections", id="by itself"),
        pytest.param("2", 2, "WEB_CONCURRENCY is 2", id="ordered"),
    ],
)
def test_database_bounds_workers(
    settings: dict[str, str], few_connections: str, tmp_path: Path, ordered: str, number: int, why: str
) -> None:
    """Also after a reload. An order stays one, with a warning."""
    more = {"DATABASE_URL": few_connections, "WEB_CONCURRENCY": ordered, "DOORS": "ingest"}
    with running(settings | more, tmp_path / "log") as process:
        workers = children(process, number)
        process.send_signal(signal.SIGHUP)
        until = time.monotonic() + SECONDS
        while (reloaded := children(process, number)) & workers:
            assert time.monotonic() < until
        assert len(reloaded) == number
    printed = (tmp_path / "log").read_text()
    assert f"  Workers        {number}, because {why}\n" in printed
    assert ("workers start, because the database allows 30 connections" in printed) is not bool(ordered)
    assert ("2 workers, watch and deliver open up to 32" in printed) is bool(ordered)


def children(process: subprocess.Popen[bytes], number: int) -> set[int]:
    """The workers, once there are so many."""
    until = time.monotonic() + SECONDS
    while len(found := {each.pid for each in psutil.Process(process.pid).children()}) != number:
        assert time.monotonic() < until
        time.sleep(0.1)
    return found
