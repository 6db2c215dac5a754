"""Pages of a history as clients read them: page after page, and as the protobuf's JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from google.protobuf.json_format import Parse

from app.grpcweb import gateway_pb2 as pb
from tests.contract.clients.readers import parse
from tests.contract.clients.shapes import GO, ZOD
from tests.contract.conftest import OpenSandbox

BUSY = f"0x{'5a' * 18}0064"
COMPLETED = 5


@pytest.fixture
def client(open_sandbox: OpenSandbox) -> FlaskClient:
    return open_sandbox().test_client()


def pages(client: FlaskClient, size: int) -> Iterator[dict[str, Any]]:
    """Every page, until the first empty one."""
    token = ""
    while True:
        query = f"acct_addr[]={BUSY}&page_size={size}&next_page_token={token}"
        page: dict[str, Any] = parse(client.get(f"/v2/transferHistory?{query}").data)
        GO["transferHistory"](page, "go")
        ZOD["transferHistory"](page, "zod")
        yield page
        token = page["next_page_token"]
        if not page["history"]:
            assert token == ""
            return


@pytest.mark.parametrize("size", [7, 100])
def test_client_reads_every_page(client: FlaskClient, size: int) -> None:
    seen: list[str] = []
    for page in pages(client, size):
        times = [int(each["ts"]) for each in page["history"]]
        assert times == sorted(times, reverse=True)
        assert page["current_size"] == str(len(times))
        seen += [each["transfer_id"] for each in page["history"]]
        for each in page["history"]:
            assert int(each["update_ts"]) >= int(each["ts"]) > 1_700_000_000_000
            assert each["status"] != COMPLETED or int(each["dst_received_info"]["amount"]) > 0
    assert len(seen) == len(set(seen)) > 400


def test_json_is_that_of_the_message(client: FlaskClient) -> None:
    """Clients with generated decoders read the JSON as the protobuf's: nothing is left out."""
    body = next(pages(client, 10))
    for each in body["history"]:
        for name in ("sender", "receiver", "dst_deadline"):
            del each[name]
    read = Parse(json.dumps(body), pb.TransferHistoryResponse())
    assert (len(read.history), read.current_size) == (10, 10)
    assert read.history[0].ts == int(body["history"][0]["ts"])
    assert read.history[0].src_send_info.chain.id == body["history"][0]["src_send_info"]["chain"]["id"]
