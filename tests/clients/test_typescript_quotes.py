"""The transaction that a gateway answers is computed again by the client, which refuses any other."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.values.crypto import checksum_address
from demo.chains import BRIDGE_V2, LEFT, POOL, RIGHT, USERS, VAULT_V2
from tests.api.sends import RECEIVER, SENDER, UNIT, USDX_UNIT, send_query, sending_network
from tests.api.shapes import SEND
from tests.api.world import configure
from tests.applications import OpenApp
from tests.clients import workshop

pytestmark = pytest.mark.system

NONCE = 1764504000000
MILLION = 1_000_000
STRANGER = checksum_address(USERS[5])
WAYS = {
    "pool": ("USDX", LEFT, RIGHT),
    "native": ("COIN", LEFT, RIGHT),
    "deposit": ("PEG", LEFT, RIGHT),
    "deposit 1": ("OLD", LEFT, RIGHT),
    "burn": ("PEG", RIGHT, LEFT),
    "burn 1": ("OLD", RIGHT, LEFT),
    "burn and mint": ("TRI", RIGHT, LEFT),
}

Answer = dict[str, Any]
Tampering = Callable[[Answer], Any]


@pytest.fixture
def client(open_app: OpenApp) -> FlaskClient:
    """A gateway of the local chains, whose pools can pay."""
    app = open_app()
    configure(app, sending_network())
    return app.test_client()


@pytest.fixture
def configs(client: FlaskClient) -> Answer:
    answer: Answer = client.get("/v2/getTransferConfigs").get_json()
    return answer


def case(client: FlaskClient, name: str, kind: str = "pool", **more: Any) -> dict[str, Any]:
    """What the client is given and requests, and what it shows if the answer is as it should be."""
    symbol, src, dst = WAYS[kind]
    native = {"native": "true"} if kind == "native" else {}
    amount = 1000 * (USDX_UNIT if kind == "pool" else UNIT)
    answer = client.get(SEND, query_string=send_query(symbol, src, dst, **native)).get_json()
    assert answer["err"] is None
    given = {"way": WAYS[kind], "amount": str(amount), "nonce": NONCE, "sender": SENDER, "receiver": RECEIVER}
    known = {
        "configs": "local",
        "answer": answer,
        "native": bool(native),
        "is_pegged": symbol not in ("USDX", "COIN"),
    }
    return {"name": name, "do": "quote", **given, **known, "expect": shown(answer), **more}


def shown(answer: Answer) -> dict[str, Any]:
    paid = int(answer["eq_value_token_amt"]) * (MILLION - answer["max_slippage"]) // MILLION
    least = str(paid) if answer["max_slippage"] else answer["estimated_receive_amt"]
    return {"value": [answer["transfer_id"], str(NONCE), least, answer["valid_until"]]}


def put(*path: str, to: Any) -> Tampering:
    """Another value at a place of the answer."""

    def change(answer: Answer) -> None:
        part = answer
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] = to

    return change


def word(text: str) -> str:
    """An address as it stands in the data of a call."""
    return text.removeprefix("0x").lower()


def swap(*path: str, old: str, new: str) -> Tampering:
    """Another address in the data of a call."""

    def change(answer: Answer) -> None:
        data = answer[path[0]]["transaction"]["data"] if path == ("approval",) else answer[path[0]]["data"]
        assert word(old) in data
        place = (*path, "transaction", "data") if path == ("approval",) else (*path, "data")
        put(*place, to=data.replace(word(old), word(new)))(answer)

    return change


TAMPERED: dict[str, tuple[Tampering, str]] = {
    "another contract": (put("transaction", "to", to=STRANGER), "the transaction goes to"),
    "a contract of another kind": (put("transaction", "to", to=VAULT_V2.text), "the transaction goes to"),
    "another receiver": (swap("transaction", old=RECEIVER, new=STRANGER), "calls something else"),
    "another function": (put("transaction", "data", to="0x12345678"), "calls something else"),
    "further data": (lambda answer: answer["transaction"].update(data=answer["transaction"]["data"] + "00"),
                     "calls something else"),
    "a larger value": (put("transaction", "value", to="1"), "has the value 1 instead of 0"),
    "another chain": (put("transaction", "chain_id", to=RIGHT), "the transaction is for another chain"),
    "no transaction": (put("transaction", to=None), "the transaction is missing"),
    "another id": (put("transfer_id", to="0x" + "ab" * 32), "its transfer id is another one"),
    "no approval": (put("approval", to=None), "the approval is missing"),
    "another spender": (put("approval", "spender", to=STRANGER), "the approval is for another"),
    "another spender in the call": (swap("approval", old=POOL.text, new=STRANGER), "the approval calls"),
    "a larger approval": (put("approval", "amount", to=str(2**256 - 1)), "the approval is for another"),
    "another token": (put("approval", "token", to=STRANGER), "the approval is for another"),
    "an approval of another token": (
        put("approval", "transaction", "to", to=STRANGER), "the approval goes to"
    ),
    "a value with the approval": (
        put("approval", "transaction", "value", to="1"), "the approval has the value"
    ),
    "an approval on another chain": (
        put("approval", "transaction", "chain_id", to=RIGHT), "the approval is for another chain"
    ),
}  # fmt: skip
"""What is done to an answer, and what the client says."""


def test_quote_agrees_or_is_refused(client: FlaskClient, configs: Answer, tmp_path: Path) -> None:
    """An application with its own list does not trust the configs, which come from the same gateway."""
    cases = [case(client, kind, kind) for kind in WAYS]
    usual = cases[0]
    for name, (tampering, says) in TAMPERED.items():
        answer = deepcopy(usual["answer"])
        tampering(answer)
        cases.append(usual | {"name": name, "answer": answer, "expect": refused(says)})
    native = case(client, "an approval of native coin", "native", expect=refused("needs no approval"))
    native["answer"]["approval"] = usual["answer"]["approval"]
    larger = case(client, "a larger value of native coin", "native", expect=refused("has the value 1001"))
    larger["answer"]["transaction"]["value"] = str(1001 * UNIT)
    unlisted = refused(f"{POOL.text} is none of the contracts")
    forged = deepcopy(configs)
    for chain in forged["chains"]:
        chain["contract_addr"] = STRANGER
    lying = refused(f"{STRANGER} is none of the contracts")
    cases += [
        native,
        larger,
        case(client, "own list", contracts=[POOL.text.lower()]),
        case(client, "own list of others", contracts=[VAULT_V2.text, BRIDGE_V2.text], expect=unlisted),
        case(client, "empty list", contracts=[], expect=unlisted),
        case(client, "configs and answer agree", contracts=[POOL.text], configs="forged", expect=lying),
    ]
    workshop.check_typescript(cases, {"local": configs, "forged": forged}, tmp_path)


def refused(says: str) -> dict[str, Any]:
    return {"error": "QuoteError", "says": says}
