"""Quotes of the Python client on real EVMs: each is accepted once, under the id that was computed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import cycle

import pytest

from app.values.crypto import checksum_address
from demo.chains import (
    BRIDGE_V2,
    COIN,
    DEPLOYER,
    LEFT,
    OLD,
    PEG,
    PLENTY,
    POOL,
    RIGHT,
    TRI,
    USDX,
    USERS,
    VAULT_V1,
)
from demo.contracts import Contract, events_of
from scripts import clients
from tests.clients import workshop
from tests.clients.stage import Stage

pytestmark = pytest.mark.system

AMOUNT = 2_000_000


@dataclass(frozen=True)
class Planned:
    """A send of a user, with what the contract may already take."""

    symbol: str
    chain: int
    contract: Contract
    token: Contract
    allowed: int = 0
    native: bool = False
    transactions: int = 2


PLANNED = {
    "pool": Planned("USDX", LEFT, POOL, USDX),
    "pool, too little allowed": Planned("USDX", LEFT, POOL, USDX, allowed=AMOUNT - 1, transactions=3),
    "pool, enough allowed": Planned("USDX", LEFT, POOL, USDX, allowed=AMOUNT, transactions=1),
    "native coin": Planned("COIN", RIGHT, POOL, COIN, native=True, transactions=1),
    "deposit, version 1": Planned("OLD", LEFT, VAULT_V1, OLD),
    "burn": Planned("PEG", RIGHT, BRIDGE_V2, PEG),
    "burn towards a third chain": Planned("TRI", RIGHT, BRIDGE_V2, TRI),
}


@pytest.mark.parametrize(
    "awaited",
    [
        pytest.param([False, True], id="in turns"),
        pytest.param([False], id="called", marks=pytest.mark.slow),
        pytest.param([True], id="awaited", marks=pytest.mark.slow),
    ],
)
def test_quote_is_accepted_once(stage: Stage, awaited: list[bool]) -> None:
    """
    :param awaited: whether the client for asyncio sends: one send after the other.
    """
    users = dict(zip(PLANNED, USERS, strict=False))
    prepare(stage, users)
    before = {
        name: (stage.transactions(planned.chain, users[name]), balance(stage, planned, users[name]))
        for name, planned in PLANNED.items()
    }
    lines = [
        line_of(stage, planned, users[name], by_asyncio)
        for (name, planned), by_asyncio in zip(PLANNED.items(), cycle(awaited), strict=False)
    ]
    command = (workshop.python(), str(clients.PYTHON / "tests" / "sends.py"), stage.base)
    said = workshop.run(*command, input="\n".join(lines), env=workshop.python_paths())
    for (name, planned), line in zip(PLANNED.items(), said.splitlines(), strict=True):
        transfer_id, tx_hash, succeeded, again = json.loads(line)
        assert (succeeded, again) == (1, "refused"), name
        assert transfer_id in ids_of(stage, planned.chain, tx_hash), name
        transactions, had = before[name]
        assert stage.transactions(planned.chain, users[name]) - transactions == planned.transactions, name
        assert planned.native or had - balance(stage, planned, users[name]) == AMOUNT, name


def ids_of(stage: Stage, chain: int, tx_hash: str) -> set[str]:
    """What the logs of a transaction name with 32 bytes."""
    values = (value for _, event in events_of(stage.receipt(chain, tx_hash)) for value in event.values())
    return {f"0x{value.hex()}" for value in values if isinstance(value, bytes)}


def prepare(stage: Stage, users: dict[str, bytes]) -> None:
    """Give everybody what they send, and allow what is already allowed; until it is in blocks."""
    for name, planned in PLANNED.items():
        node, user = stage.nodes[planned.chain], users[name]
        planned.token.call(DEPLOYER, "mint", user, PLENTY).send(node)
        allowed = planned.token.call(user, "approve", planned.contract.address, planned.allowed).send(node)
        stage.receipt(planned.chain, allowed)


def line_of(stage: Stage, planned: Planned, user: bytes, awaited: bool) -> str:
    question = {
        "src_chain_id": planned.chain,
        "dst_chain_id": LEFT + RIGHT - planned.chain,
        "token_symbol": planned.symbol,
        "amount": AMOUNT,
        "slippage_tolerance": 5000,
        "sender": checksum_address(user),
        "native": planned.native,
    }
    return json.dumps({"node": stage.wallets[planned.chain], "question": question, "awaited": awaited})


def balance(stage: Stage, planned: Planned, user: bytes) -> int:
    call = planned.token.call(user, "balanceOf", user)
    asked = {"to": planned.token.text, "data": f"0x{call.data.hex()}"}
    return int(stage.nodes[planned.chain].rpc("eth_call", asked, "latest"), 16)
