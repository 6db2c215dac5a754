"""The node that the demonstration gives to wallets: JSON-RPC by itself, in batches, and with mistakes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest

from demo.wallet import listening, wallet

CHAIN = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
TIP = {"jsonrpc": "2.0", "id": "tip", "method": "eth_maxPriorityFeePerGas"}
SENT: dict[str, Any] = {"jsonrpc": "2.0", "id": 3, "method": "eth_sendTransaction", "params": [{"to": "0x1"}]}
ANSWERED = {"jsonrpc": "2.0", "id": 1, "result": "eth_chainId"}
TIP_ANSWERED = {"jsonrpc": "2.0", "id": "tip", "result": "0x0"}
INVALID = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid Request"}}


@pytest.fixture
def requests_of_the_node() -> list[dict[str, Any]]:
    """What reached the node behind."""
    return []


@pytest.fixture
def base(requests_of_the_node: list[dict[str, Any]]) -> Iterator[str]:
    """The address of the wallets' node. The one behind answers with the method."""

    class Node(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests_of_the_node.append(call)
            answer = json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": call["method"]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            pass

    with listening(Node) as node, wallet(node) as base:
        yield base


def answer(base: str, body: object) -> Any:
    response = httpx.post(base, json=body, trust_env=False)
    assert response.status_code == 200
    return response.json()


def test_calls_are_answered_alone_and_in_batches(base: str) -> None:
    assert answer(base, CHAIN) == ANSWERED
    assert answer(base, [CHAIN, TIP, 7]) == [ANSWERED, TIP_ANSWERED, INVALID]


@pytest.mark.parametrize("params", [[{"to": "0x1"}], None, [], {}, ["0x1"]])
def test_transaction_pays_nothing_for_gas(
    base: str, requests_of_the_node: list[dict[str, Any]], params: object
) -> None:
    call = {name: value for name, value in SENT.items() if name != "params"}
    call |= {} if params is None else {"params": params}
    free = call | {"params": [{"to": "0x1", "gasPrice": "0x0"}]} if params == SENT["params"] else call
    answer(base, call)
    answer(base, [call])
    assert requests_of_the_node == [free, free]


@pytest.mark.parametrize(
    ("body", "code", "id_"),
    [
        *((text, -32700, None) for text in ("{", "", "\xff")),
        *((text, -32600, None) for text in ("[]", "7", "null")),
        *((json.dumps(CHAIN | {name: 7}), -32600, 1) for name in ("jsonrpc", "method")),
        *((json.dumps(CHAIN | {"id": wrong}), -32600, None) for wrong in ({"no": "id"}, True)),
    ],
)
def test_what_is_no_call_is_refused(
    base: str, requests_of_the_node: list[dict[str, Any]], body: str, code: int, id_: object
) -> None:
    refused = httpx.post(base, content=body.encode("latin-1"), trust_env=False).json()
    assert (refused["error"]["code"], refused["id"]) == (code, id_)
    assert requests_of_the_node == []


def test_notification_is_carried_out_without_answer(
    base: str, requests_of_the_node: list[dict[str, Any]]
) -> None:
    call = {"jsonrpc": "2.0", "method": "evm_mine"}
    for body in (call, [call, call]):
        response = httpx.post(base, json=body, trust_env=False)
        assert (response.status_code, response.content) == (204, b"")
    assert [each["method"] for each in requests_of_the_node] == ["evm_mine"] * 3


def test_node_that_does_not_respond_is_reported(base: str) -> None:
    with wallet("http://127.0.0.1:1") as alone:
        assert answer(alone, [CHAIN, TIP])[0]["error"]["code"] == -32603


def test_length_is_required(base: str) -> None:
    assert httpx.post(base, content=iter([b"{}"]), trust_env=False).status_code == 411
