"""Events reported to a running server, as a reporter does."""

from __future__ import annotations

import json
import secrets
import socket
from datetime import timedelta
from http.client import HTTPResponse

from tests.api.world import released, sent
from tests.serving.server import Server

TOKEN = "a token of this test"


def report_events(server: Server, *events: dict[str, object]) -> None:
    body = "".join(json.dumps(each) + "\n" for each in events)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-ndjson"}
    verdict = json.load(server.request("POST", "/ingest/v1/events", headers, body))
    assert verdict["accepted"] == len(events), verdict


def new_transfer(server: Server) -> str:
    transfer_id = f"0x{secrets.token_hex(32)}"
    report_events(server, sent(transfer_id))
    return transfer_id


def release(server: Server, transfer_id: str) -> None:
    report_events(server, released(transfer_id, timedelta(seconds=5)))


def answer(wire: socket.socket) -> HTTPResponse:
    response = HTTPResponse(wire)
    response.begin()
    return response


def follow(server: Server, query: str, last_id: str = "") -> socket.socket:
    wire = socket.create_connection((server.host, server.port), timeout=20)
    header = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
    wire.sendall(f"GET /v2/transferEvents?{query} HTTP/1.1\r\nHost: x\r\n{header}\r\n".encode())
    return wire
