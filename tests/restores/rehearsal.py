"""Events that are reported to a gateway, its answers, and what a reporter does after a restore."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from flask import Flask
from flask_migrate import upgrade

from app.network.document import import_network
from tests.actors import TESTER
from tests.applications import application, editing_of
from tests.contract.recorded_answers import NOW, ROOT, Answer, Request, requests, sandbox_app, send_request
from tests.feed.views.kit import EVENTS, NDJSON, bearer

TOKEN = "test-ingest-token"
PORTION = 100
"""Events that a reporter sends at a time."""

_NO_READINGS = ("/ingest/", "/openapi.json", "/docs", "/readyz")
"""Requests of the recorded set that report events, or say nothing of the database."""


@cache
def sandbox() -> tuple[bytes, tuple[bytes, ...]]:
    """The sandbox's network document, and all its events as lines."""
    with tempfile.TemporaryDirectory() as folder:
        runner = sandbox_app(Path(folder)).test_cli_runner()
        network = runner.invoke(args=["network", "export"]).stdout_bytes
        lines = runner.invoke(args=["events", "export"]).stdout_bytes.splitlines()
    return network, tuple(lines)


@cache
def readings() -> tuple[Request, ...]:
    """The requests whose answers are recorded, over both interfaces: those that only read."""
    return tuple(
        request for request in requests()
        if "command" not in request and not request["path"].startswith(_NO_READINGS)
    )  # fmt: skip


@contextmanager
def gateway_on(url: str) -> Iterator[Flask]:
    """The gateway on a migrated database, at the sandbox's time, outside of any request."""
    with application(url, lambda: NOW) as app:
        yield app


def begin(url: str) -> None:
    """Migrate an empty database and import the sandbox's network."""
    with gateway_on(url) as app:
        upgrade(directory=str(ROOT / "migrations"))
        import_network(*editing_of(app), sandbox()[0], actor=TESTER)


def report(app: Flask, lines: tuple[bytes, ...]) -> int:
    """Send lines as a reporter does; how many were new."""
    client, accepted = app.test_client(), 0
    for start in range(0, len(lines), PORTION):
        body = b"\n".join(lines[start : start + PORTION])
        answer = client.post(EVENTS, data=body, headers={"Content-Type": NDJSON} | bearer(TOKEN))
        verdict = json.loads(answer.data)
        assert verdict["refused"] == [], verdict
        accepted += verdict["accepted"]
    return accepted


def rest_after_cursor(app: Flask, lines: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """What a reporter sends again: everything after the last event that the gateway has of it."""
    answer = app.test_client().get("/ingest/v1/cursor", headers=bearer(TOKEN))
    cursor: dict[str, Any] = json.loads(answer.data)["cursor"]
    position = [_identity(json.loads(line)) for line in lines].index(_identity(cursor))
    return lines[position + 1 :]


def _identity(event: dict[str, Any]) -> tuple[str, str]:
    return event["id"], event["type"]


def answers(app: Flask) -> list[Answer]:
    """The answer to every request, byte for byte."""
    return [send_request(app, request) for request in readings()]


def is_changed(app: Flask, before: list[Answer]) -> bool:
    """Whether an answer is another one than before."""
    return any(send_request(app, request) != old for request, old in zip(readings(), before, strict=True))
