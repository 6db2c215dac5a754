"""The gateway and its watcher as processes of their own, on a new database."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from flask_migrate import upgrade

from app import create_app
from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.account_changes import create_account
from app.accounts.services.passwords import generate_password
from app.audit.keys import AuditKeys
from app.cli.terminal import cli_actor
from app.db.database import Database
from app.db.engine import writing
from app.db.models import db
from app.http.application import part_of
from app.network.document import import_within, read_document
from config import ALL_DOORS, load_settings
from demo.processes import start

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".tmp" / "demo"
OPERATOR = "admin@localhost"
WATCHER = ("-m", "flask", "--app", "wsgi", "watch")
SERVER = ("-m", "gunicorn", "-c", "gunicorn.conf.py", "wsgi:app")
SECONDS_TO_END = 20
LINES_OF_LOG = 15


class Ended(RuntimeError):
    """A process of the gateway has ended by itself; the text has the end of its log."""


@dataclass(frozen=True)
class Running:
    """The server and the watcher, by their names."""

    processes: Mapping[str, subprocess.Popen[str]]

    def refuse_if_ended(self) -> None:
        """Report it at once: a caller would wait for a response that never comes.

        :raises Ended: one of them has.
        """
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise Ended(f"the {name} has ended with exit code {process.returncode}: {end_of_log(name)}")


def end_of_log(name: str) -> str:
    """Where the log of this process is, and its last lines."""
    file = FOLDER / f"{name}.log"
    lines = file.read_text(errors="replace").splitlines()
    return "\n  ".join([f"see {file}", *lines[-LINES_OF_LOG:]])


def environment(host: str, port: int, token: str, urls: Mapping[str, str]) -> dict[str, str]:
    """The settings of both processes; nothing else that the shell may have set but where programs are."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return kept | dict(urls) | {
        "DATABASE_URL": f"sqlite:///{FOLDER / 'gateway.db'}",
        "SECRET_KEY": secrets.token_hex(32),
        "AUDIT_KEY": secrets.token_hex(32),
        "INGEST_TOKENS": token,
        "HOST": host,
        "PORT": str(port),
        "WEB_CONCURRENCY": "1",
        "CONFIG_MAX_AGE_SECONDS": "1",
        "DOORS": ",".join((*ALL_DOORS, "wait")),
    }  # fmt: skip


def prepare(settings: Mapping[str, str], network: Mapping[str, Any]) -> str:
    """A new database with this network and one account of the console; its password."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    os.environ.update(settings)
    app = create_app(load_settings())
    password = generate_password()
    with app.app_context():
        upgrade(directory=str(ROOT / "migrations"))
        database = part_of(app, Database)
        with writing(database.engine) as connection:
            import_within(connection, read_document(orjson.dumps(network)), database.clock())
        create_account(
            database,
            part_of(app, AuditKeys),
            part_of(app, TwoPersons),
            OPERATOR,
            password,
            Role.ADMIN,
            actor=cli_actor(),
        )
        for engine in db.engines.values():
            engine.dispose()
    return password


@contextmanager
def running(settings: Mapping[str, str]) -> Iterator[Running]:
    """The server and the watcher, ended with the block. Their logs are in ``.tmp/demo/``."""
    processes: dict[str, subprocess.Popen[str]] = {}
    try:
        for name, command in (("server", SERVER), ("watcher", WATCHER)):
            with (FOLDER / f"{name}.log").open("w") as log:
                processes[name] = start(
                    [sys.executable, *command], cwd=ROOT, env=dict(settings), stdout=log, stderr=log
                )
        yield Running(processes)
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            try:
                process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
