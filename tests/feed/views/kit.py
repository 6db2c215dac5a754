"""Posting events to the feed as a reporter does."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.transfers import models as log

EVENTS = "/ingest/v1/events"
CURSOR = "/ingest/v1/cursor"
TOKEN = "test-ingest-token"
NDJSON = "application/x-ndjson"


def ndjson(*events: dict[str, Any]) -> bytes:
    """Events as lines."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def bearer(token: str) -> dict[str, str]:
    """The header that presents a token."""
    return {"Authorization": f"Bearer {token}"}


def post(
    client: FlaskClient,
    body: bytes | Iterable[dict[str, Any]],
    token: str = TOKEN,
    headers: dict[str, str] | None = None,
    **request: Any,
) -> TestResponse:
    """Post a body, or events as one."""
    data = body if isinstance(body, bytes) else ndjson(*body)
    request = {"content_type": NDJSON} | request
    return client.post(EVENTS, data=data, headers=bearer(token) | (headers or {}), **request)


def post_gzip(client: FlaskClient, body: bytes, **request: Any) -> TestResponse:
    """Post a compressed body."""
    return post(client, gzip.compress(body), headers={"Content-Encoding": "gzip"}, **request)


def verdict(response: TestResponse) -> dict[str, Any]:
    """The verdict in an answer that is one."""
    assert response.status_code == 200, response.get_data(as_text=True)
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in response.headers
    body = response.get_json()
    assert isinstance(body, dict)
    assert list(body) == ["accepted", "repeated", "refused"]
    return body


def refused(response: TestResponse, status: int, reason: str) -> str:
    """The message of an error in the envelope."""
    assert response.status_code == status, response.get_data(as_text=True)
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["X-Gateway-Reason"] == reason
    assert response.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in response.headers
    body = response.get_json()
    assert list(body) == ["err"]
    assert body["err"]["code"] == 500
    return str(body["err"]["msg"])


def logged(app: Flask) -> list[tuple[str, str]]:
    """Id and reporter of every acceptance, in the order of the log."""
    with reading(part_of(app, Database).engine) as connection:
        rows = connection.execute(select(log.Event.event_id, log.Event.reporter).order_by(log.Event.seq))
        return [(row.event_id, row.reporter) for row in rows]
