"""Events reported to a running server, as a reporter does."""

from __future__ import annotations

import json
import secrets
from datetime import timedelta

from tests.api.world import released, sent
from tests.serving.server import Server

TOKEN = "a token of this test"


def tell(server: Server, *events: dict[str, object]) -> None:
    connection = server.connect()
    body = "".join(json.dumps(each) + "\n" for each in events)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-ndjson"}
    connection.request("POST", "/ingest/v1/events", body, headers)
    verdict = json.load(connection.getresponse())
    assert verdict["accepted"] == len(events), verdict
    connection.close()


def new_transfer(server: Server) -> str:
    transfer_id = f"0x{secrets.token_hex(32)}"
    tell(server, sent(transfer_id))
    return transfer_id


def release(server: Server, transfer_id: str) -> None:
    tell(server, released(transfer_id, timedelta(seconds=5)))
