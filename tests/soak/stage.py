"""Everything that runs in an installation: a database, servers, a sender, and a receiver of webhooks."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import psutil
from flask import Flask

from app.accounts.rules.roles import Role
from app.accounts.services.account_changes import create_account
from app.audit.rules.records import Actor, Source
from app.credentials.services.issuing import issue, new_key
from app.db.database import Database
from app.http.application import part_of
from app.values.identifiers import account_key
from app.webhooks.rules.addresses import AllowedNetworks
from app.webhooks.rules.subscription import Audience, subjects_of
from app.webhooks.services.subscriptions import NewSubscription, subscribe
from tests.applications import audited_of, editing_of
from tests.deploy.files import ROOT
from tests.load.events import TOKEN
from tests.load.requests import fill, transfer_ids
from tests.load.served import GATEWAY, Served, serving
from tests.postgres import PostgresServer, gateway_on, postgres_server

OPERATOR: Final = Actor("cli:bench", Source.CLI)
EMAIL: Final = "bench@example.org"
PASSWORD: Final = "only for measurements, nothing is kept"
NETWORKS: Final = "127.0.0.0/8"
KEY_LIMIT: Final = "100000/second"
FAILS_EVERY: Final = 20
"""One of so many webhooks is answered 503, and sent again."""


class Receiver(ThreadingHTTPServer):
    """Takes webhooks, and counts them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.came = 0


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.came += 1
        self.send_response(503 if self.server.came % FAILS_EVERY == 0 else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What runs, and what its callers use."""

    gateway: Served
    waiting: Served
    sender: psutil.Process
    database: PostgresServer
    receiver: Receiver
    folder: Path
    ids: list[str]
    api_key: str
    account: str


@contextmanager
def stage(transfers: int, processes: int) -> Iterator[Stage]:
    """All of it, until the block ends.

    :param transfers: that are there from the start.
    :param processes: of the server that answers; one more serves callers that wait.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-soak-")))
        database = stack.enter_context(postgres_server())
        receiver = stack.enter_context(Receiver())
        Thread(target=receiver.serve_forever, daemon=True).start()
        stack.callback(receiver.shutdown)
        account = "0x" + "ab" * 20
        with gateway_on(database.url, webhook_allow_networks=(NETWORKS,)) as app:
            fill(app, transfers)
            ids = transfer_ids(part_of(app, Database))
            key = _accounts_and_keys(app, receiver.server_port, account)
        settings = {
            "DATABASE_URL": database.url,
            "SECRET_KEY": "bench" * 8,
            "AUDIT_KEY": "bench" * 8,
            "INGEST_TOKENS": TOKEN,
            "WEBHOOK_ALLOW_NETWORKS": NETWORKS,
            "WEB_CONCURRENCY": str(processes),
            "GUNICORN_CMD_ARGS": "--no-control-socket",
            "LOG_LEVEL": "WARNING",
        }
        answering = serving(GATEWAY, settings, folder / "gateway.log")
        of_one = settings | {"DOORS": "wait", "WEB_CONCURRENCY": "1"}
        waiting = serving(GATEWAY, of_one, folder / "waiting.log")
        yield Stage(
            stack.enter_context(answering),
            stack.enter_context(waiting),
            stack.enter_context(sending(settings, folder / "sender.log")),
            database,
            receiver,
            folder,
            ids,
            key,
            account,
        )


def _accounts_and_keys(app: Flask, port: int, account: str) -> str:
    create_account(*editing_of(app), EMAIL, PASSWORD, Role.ADMIN, actor=OPERATOR)
    key = issue(*editing_of(app), new_key("soak", ("read", "webhooks"), KEY_LIMIT), actor=OPERATOR).text
    url = f"http://127.0.0.1:{port}/"
    subjects = subjects_of([account_key(account)], [])
    for wanted in (
        NewSubscription(url, Audience.EVERYTHING),
        NewSubscription(url, Audience.SUBJECTS, subjects=subjects),
    ):
        subscribe(*audited_of(app), part_of(app, AllowedNetworks), wanted, actor=OPERATOR)
    return key


@contextmanager
def sending(
    settings: Mapping[str, str], log: Path, code: Path = ROOT, python: str = sys.executable
) -> Iterator[psutil.Process]:
    """``flask deliver``, which may send to this machine.

    :param python: the interpreter of the code.
    """
    with log.open("w") as output:
        child = subprocess.Popen(
            [python, "-m", "flask", "--app", "wsgi", "deliver"],
            cwd=code,
            env=dict(settings),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield psutil.Process(child.pid)
    finally:
        child.terminate()
        try:
            child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
