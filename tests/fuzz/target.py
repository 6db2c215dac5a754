"""A gunicorn as it is shipped, with every interface and the sandbox."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import orjson
import psutil
from flask import Flask
from sqlalchemy import Connection, select

from app.accounts.rules.roles import Role
from app.accounts.services.account_changes import create_account
from app.audit.verification import verify_audit
from app.credentials.services.issuing import issue, new_key
from app.db.database import Database
from app.db.engine import reading
from app.feed.services.reprojection import replay
from app.http.application import part_of
from app.sandbox.feed import sandbox_events
from app.transfers.models import Transfer, TransferAccount
from app.values.times import system_clock
from tests.actors import TESTER
from tests.applications import audited_of, editing_of
from tests.feed.services.world import projections
from tests.fuzz.api_inputs import GRPC
from tests.fuzz.exchange import Wire
from tests.fuzz.input import Corpus
from tests.fuzz.operator import Operator, found_pages
from tests.postgres import gateway_on
from tests.sandboxes import load_into
from tests.serving.server import IN_USE, MEASURED, ROOT, Server, serving

SECRET = "bench" * 8
"""As ``gateway_on`` has it."""

TOKEN = "a token of the fuzzer"
RECORDED = ROOT / "tests" / "contract" / "recorded" / "answers.json"
LINES = 400
"""Events that inputs are made from, at most."""

PUBLIC = ("/", "/docs/", "/docs/try/", "/docs/try/try.js", "/openapi.json", "/transfer/", "/transfer/x",
    "/pages/static/x.css",
          "/pages/static/page.css", "/admin/static/console.css", "/admin/fs-static/x", "/static/x",
          "/healthz", "/readyz",
          "/docs/interface/", "/docs/search.json", "/favicon.ico", "/robots.txt", "/docs/../x",
          "/version")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """The server, what inputs are made from, and its log."""

    server: Server
    corpus: Corpus
    log: Path

    def workers(self) -> set[int]:
        """The process ids of the workers."""
        return {worker.pid for worker in psutil.Process(self.server.process.pid).children()}

    def in_use(self) -> dict[int, int]:
        """Bytes that each worker has in use, by its process id.

        What its allocators retain, and the holes that large requests leave, are only in its resident memory.
        """
        found: dict[int, int] = {}
        with ExitStack() as connections:  # so that the next worker takes the next one
            while not found.keys() >= self.workers():
                wire = HTTPConnection(self.server.host, self.server.port, timeout=30)
                connections.callback(wire.close)
                wire.request("GET", IN_USE)
                answer = json.loads(wire.getresponse().read())
                found[answer["pid"]] = answer["bytes"]
        return found

    def log_faults(self) -> list[str]:
        """Lines of the log that no input may cause. What was unavailable for a moment is a warning."""
        fault = re.compile(r"(Traceback|\S+ (ERROR|CRITICAL) )")
        return [line for line in self.log.read_text().splitlines() if fault.match(line)]


@contextmanager
def running_target(url: str, folder: Path, pages: int) -> Iterator[Target]:
    """A gateway with the sandbox on an empty database, ended with the block.

    :param pages: of the console that inputs are made from, at most.
    """
    with gateway_on(url) as app:
        load_into(app)
        corpus = _corpus(app)
    settings = {
        "DATABASE_URL": url,
        "SECRET_KEY": SECRET,
        "AUDIT_KEY": SECRET,
        "INGEST_TOKENS": TOKEN,
        "DOORS": "api,grpcweb,ingest,admin,wait",
        "LOG_LEVEL": "WARNING",
    }
    with serving(MEASURED, folder / "log", **settings) as server:
        wire = Wire(server.host, server.port)
        operator = Operator(wire, corpus)
        operator.sign_in()
        found, forms = found_pages(operator, pages)
        wire.close()
        yield Target(server, replace(corpus, pages=found, forms=forms), folder / "log")


def _corpus(app: Flask) -> Corpus:
    create_account(*editing_of(app), "fuzz@example.org", SECRET, Role.ADMIN, actor=TESTER)
    key = issue(*editing_of(app), new_key("fuzz", ("read", "webhooks"), ""), actor=TESTER).text
    with reading(part_of(app, Database).engine) as connection:
        keys = connection.scalars(
            select(Transfer.transfer_id).order_by(Transfer.transfer_id).limit(200)
        ).all()
        accounts = connection.scalars(select(TransferAccount.account).distinct().limit(20)).all()
    ids, recorded = [f"0x{each.hex()}" for each in keys], _examples()
    return Corpus(
        ids,
        sorted(accounts),
        TOKEN,
        key,
        "fuzz@example.org",
        SECRET,
        examples=[each for each in recorded if str(each["path"]).startswith(("/v1/", "/v2/"))],
        calls=[each for each in recorded if str(each["path"]).startswith(GRPC) and each["base64"]],
        lines=_lines(),
        public=[*PUBLIC, *(f"/transfer/{each}" for each in ids[:40])],
    )


def _examples() -> list[dict[str, object]]:
    """Right requests, as they were recorded; those of gRPC-Web have their body in base64."""
    recorded = [each["request"] for each in json.loads(RECORDED.read_text())]
    return [
        {name: each.get(name) for name in ("method", "path", "body", "base64")}
        for each in recorded
        if "method" in each and "text" not in each.get("headers", {}).get("Content-Type", "")
    ]


def _lines() -> list[dict[str, object]]:
    """Some events of each type."""
    by_type: dict[str, list[dict[str, object]]] = {}
    for event in sandbox_events(system_clock()):
        of_type = by_type.setdefault(str(event["type"]), [])
        if len(of_type) < 20:
            of_type.append(orjson.loads(orjson.dumps(event)))
    return [event for of_type in by_type.values() for event in of_type][:LINES]


def inconsistencies(url: str) -> list[str]:
    """What is wrong in the database: the audit log's seals, and projections that a replay changes."""
    with gateway_on(url) as app:
        database = part_of(app, Database)
        verified = verify_audit(*audited_of(app))
        found = [f"audit: {verified.fault}"] if verified.fault is not None else []
        with reading(database.engine) as connection:
            before = _projected(connection)
        replay(*audited_of(app), actor=TESTER)
        with reading(database.engine) as connection:
            after = _projected(connection)
    return found + [f"a replay makes other {name}" for name in before if before[name] != after[name]]


def _projected(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """The projections of the log, without the times at which anomalies were found.

    How far a chain was read is not lowered where a later send takes an event to another chain; a replay finds
    less, so only the chains are compared.
    """
    found = projections(connection)
    shown = {"anomalies": 4, "chain_progress": 1}
    return found | {name: [row[:columns] for row in found[name]] for name, columns in shown.items()}
