"""What happens between `make run` and the first request."""

from __future__ import annotations

import re
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import func, select

from app import create_app
from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.transfers.models import Event
from config import ALL_DOORS, load_settings
from scripts.docs_site import later
from scripts.docs_site.build import ROOT
from scripts.docs_site.failure import CannotBuild
from scripts.start import (
    check_address,
    console_account,
    open_every_interface,
    prepare_database,
    secret_key,
    where_data_is,
)
from scripts.venv import Progress
from tests.applications import make_settings
from tests.databases import empty_tables

LOOPBACK = "127.0.0.1"


def test_key_is_made_once_and_private(tmp_path: Path) -> None:
    file = tmp_path / "instance" / "secret_key"
    key = secret_key(file)
    assert len(bytes.fromhex(key)) == 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret_key(file) == key
    assert secret_key(tmp_path / "other") != key


def test_empty_key_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "secret_key").touch()
    with pytest.raises(SystemExit, match=r"SECRET_KEY: .* is empty"):
        secret_key(tmp_path / "secret_key")


def test_unusable_key_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "instance").touch()
    with pytest.raises(SystemExit, match=r"SECRET_KEY: not set, and .* cannot be used"):
        secret_key(tmp_path / "instance" / "secret_key")


@pytest.mark.parametrize(
    ("chosen", "served"), [(None, (*ALL_DOORS, "wait")), ("", (*ALL_DOORS, "wait")), ("api", ("api",))]
)
def test_one_address_serves_everything_by_default(
    monkeypatch: pytest.MonkeyPatch, chosen: str | None, served: tuple[str, ...]
) -> None:
    monkeypatch.delenv("DOORS", raising=False)
    if chosen is not None:
        monkeypatch.setenv("DOORS", chosen)
    open_every_interface()
    assert load_settings().doors == served


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port on which something else listens."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        yield listener.getsockname()[1]


def test_taken_port_stops_before_preparation(taken_port: int) -> None:
    with pytest.raises(SystemExit, match=f"PORT: {taken_port} on {LOOPBACK}: Address already in use"):
        check_address(make_settings("sqlite://", host=LOOPBACK, port=taken_port))


@pytest.mark.parametrize("host", ["203.0.113.9", "nowhere.invalid"])
def test_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(SystemExit, match=f"HOST: {host}"):
        check_address(make_settings("sqlite://", host=host, port=0))


def test_missing_database_is_prepared_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'deep' / 'down' / 'gateway.db'}"
    app = create_app(make_settings(url, doors=ALL_DOORS))
    prepare_database(app, Progress("Starting"))
    account, password = console_account(app)
    assert account == "account   admin@localhost"
    assert re.fullmatch(r"password  \S{16,}  \(shown only this once\)", password)
    assert capsys.readouterr() == ("Starting ...\n", "")
    events = everything(app)
    assert events > 0
    prepare_database(app, Progress("Starting"))
    (again,) = console_account(app)
    assert again.endswith(" operators new-password admin@localhost")
    assert everything(app) == events


def test_verbose_start_logs_each_migration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = create_app(make_settings(f"sqlite:///{tmp_path / 'gateway.db'}"))
    prepare_database(app, Progress("Starting"), verbose=True)
    printed = capsys.readouterr()
    line = re.compile(r"\S+T\S+ INFO \d+ alembic\.runtime\.migration: \S")
    assert [each for each in printed.err.splitlines() if not line.match(each)] == []
    assert printed.err.count("migration: Running upgrade") > 3
    assert "sandbox loaded: " in printed.out


def test_start_shows_each_migration_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    progress = Progress("Starting")
    progress._began -= 3
    prepare_database(create_app(make_settings(f"sqlite:///{tmp_path / 'gateway.db'}")), progress)
    printed = capsys.readouterr()
    assert printed.out.count("migrating the database: upgrade") > 3
    assert "loading the sandbox" in printed.out
    assert "\n" not in printed.out, "it is one line"
    assert printed.err == ""


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"sqlite:///{ROOT / 'instance/gateway.db'}", "instance/gateway.db"),
        ("sqlite:////var/lib/gateway.db", "/var/lib/gateway.db"),
        ("postgresql+psycopg://user:hush@host/name", "postgresql+psycopg://user:***@host/name"),
    ],
)
def test_start_names_where_data_is(url: str, shown: str) -> None:
    assert where_data_is(url) == shown


def everything(app: Flask) -> int:
    """How many events the application's database holds."""
    with app.app_context(), reading(part_of(app, Database).engine) as connection:
        count = connection.scalar(select(func.count()).select_from(Event))
    assert count is not None
    return count


def test_only_an_embedded_database_gets_a_sandbox(postgres_url: str) -> None:
    app = create_app(make_settings(postgres_url))
    try:
        prepare_database(app, Progress("Starting"))
        assert console_account(app) == ()
        assert everything(app) == 0
    finally:
        empty_tables(postgres_url)  # of the first account and the record of it


def test_prepare_database_reports_impossible_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    app = create_app(make_settings(f"sqlite:///{tmp_path}/file/gateway.db"))
    with pytest.raises(
        SystemExit,
        match=r"^DATABASE_URL: .*file/gateway.db cannot be used .unable to open .*: name a file, make its",
    ):
        prepare_database(app, Progress("Starting"))


def test_report_of_database_has_no_password() -> None:
    app = create_app(make_settings(f"postgresql+psycopg://user:hush@{LOOPBACK}:1/name"))
    with pytest.raises(SystemExit) as ended:
        prepare_database(app, Progress("Starting"))
    assert str(ended.value).startswith("DATABASE_URL: ")
    assert "\n" not in str(ended.value)
    assert "hush" not in str(ended.value)


def test_documentation_waits_for_the_gateway() -> None:
    """Nobody answers at first: it waits, only for the process that started it."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        command = [sys.executable, "-m", "scripts.docs_site.later", LOOPBACK, str(listener.getsockname()[1])]
        with subprocess.Popen(command, cwd=ROOT) as builder:
            connection, _ = listener.accept()
            with connection:
                assert connection.recv(1000).startswith(b"GET /healthz ")
                assert builder.poll() is None
            builder.terminate()


def test_documentation_is_built_for_unknown_port(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With PORT=0 nobody could answer at that port: it would wait in vain."""
    monkeypatch.setattr(later, "build", lambda: True)
    monkeypatch.setattr(later, "wait_for_answer", lambda _host, _port: pytest.fail("it waits"))
    monkeypatch.setattr("os.nice", lambda _by: None)
    later.main(LOOPBACK, "0")
    assert capsys.readouterr().out == "The documentation is built.\n"


def test_gateway_runs_without_documentation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> bool:
        raise CannotBuild("errors.md: a link leads nowhere")

    monkeypatch.setattr(later, "build", fail)
    monkeypatch.setattr(later, "wait_for_answer", lambda _host, _port: None)
    monkeypatch.setattr("os.nice", lambda _by: None)
    later.main(LOOPBACK, "1")
    assert capsys.readouterr().err == (
        "The documentation was not built; `make docs` tries again.\nerrors.md: a link leads nowhere\n"
    )
