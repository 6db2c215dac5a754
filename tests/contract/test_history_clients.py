"""Pages of a history as strict clients read them: every type, every field, and page after page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from flask.testing import FlaskClient
from google.protobuf.json_format import Parse
from pydantic import BaseModel, ConfigDict, StringConstraints

from app.grpcweb import gateway_pb2 as pb
from tests.contract.recorded_answers import sandbox_app

BUSY = f"0x{'5a' * 18}0064"
Digits = Annotated[str, StringConstraints(pattern="^(0|[1-9][0-9]*)$")]
Id = Annotated[str, StringConstraints(pattern="^0x[0-9a-f]{64}$")]


class Strict(BaseModel):
    """No field more or less, no type converted."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Chain(Strict):
    id: int
    name: str
    icon: str
    block_delay: int
    gas_token_symbol: str
    explore_url: str
    contract_addr: str
    drop_gas_amt: Digits


class Token(Strict):
    symbol: str
    address: str
    decimal: int
    xfer_disabled: bool


class Leg(Strict):
    chain: Chain
    token: Token
    amount: Digits


class Transfer(Strict):
    transfer_id: Id
    src_send_info: Leg
    dst_received_info: Leg
    ts: Digits
    src_block_tx_link: str
    dst_block_tx_link: str
    status: int
    refund_reason: int
    sender: str
    receiver: str
    update_ts: Digits
    bridge_type: int
    dst_deadline: Literal["0"]


class Page(Strict):
    err: None
    history: list[Transfer]
    next_page_token: str
    current_size: Digits


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    return sandbox_app(Path(tmp_path_factory.mktemp("history"))).test_client()


def pages(client: FlaskClient, size: int) -> Iterator[tuple[Page, dict[str, Any]]]:
    """Every page, until the first empty one."""
    token = ""
    while True:
        answer = client.get(
            f"/v2/transferHistory?acct_addr[]={BUSY}&page_size={size}&next_page_token={token}"
        )
        page = Page.model_validate_json(answer.data)
        yield page, answer.get_json()
        token = page.next_page_token
        if not page.history:
            assert token == ""
            return


@pytest.mark.parametrize("size", [7, 100])
def test_strict_client_reads_every_page(client: FlaskClient, size: int) -> None:
    seen: list[str] = []
    for page, _ in pages(client, size):
        times = [int(each.ts) for each in page.history]
        assert times == sorted(times, reverse=True)
        assert page.current_size == str(len(times))
        seen += [each.transfer_id for each in page.history]
        for each in page.history:
            assert int(each.update_ts) >= int(each.ts) > 1_700_000_000_000
            assert each.status != 5 or int(each.dst_received_info.amount) > 0
    assert len(seen) == len(set(seen)) > 400


def test_the_json_is_that_of_the_message(client: FlaskClient) -> None:
    """Clients whose decoders were generated read the JSON as the protobuf's: nothing is left out."""
    _, body = next(pages(client, 10))
    for each in body["history"]:
        for name in ("sender", "receiver", "dst_deadline"):
            del each[name]
    read = Parse(json.dumps(body), pb.TransferHistoryResponse())
    assert (len(read.history), read.current_size) == (10, 10)
    assert read.history[0].ts == int(body["history"][0]["ts"])
    assert read.history[0].src_send_info.chain.id == body["history"][0]["src_send_info"]["chain"]["id"]
