"""Transfers of every kind, sent by the client to contracts on real EVMs from what the gateway answers."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from app.values.crypto import checksum_address
from demo.chains import DEPLOYER, LEFT, PLENTY, POOL, RIGHT, USDX, USERS
from demo.contracts import Call
from tests.clients import workshop
from tests.clients.stage import Stage
from tests.grpcweb.node import node, run

pytestmark = [pytest.mark.slow, pytest.mark.system]

AMOUNT = 2_000_000
PAST = "2020-01-01T00:00:00.000Z"
SENT, SENT_WITH_APPROVAL, SENT_WITH_TWO_APPROVALS = 1, 2, 3
"""Transactions. The program sends each transfer twice; the second time it allows again what was used."""


def wanted(symbol: str, src: int, dst: int, **more: Any) -> dict[str, Any]:
    """A line for the program. Each transfer has its user, who sends to somebody else."""
    usual = {
        "sender": checksum_address(USERS[0]),
        "receiver": checksum_address(USERS[1]),
        "tokenSymbol": symbol,
        "srcChainId": src,
        "dstChainId": dst,
        "amount": str(AMOUNT),
        "native": False,
        "changes": [],
    }
    return usual | more


def sent(stage: Stage, chain: int, *lines: dict[str, Any]) -> list[list[Any]]:
    """How each transfer ended."""
    program = str(workshop.typescript() / "test" / "sends.js")
    given = "".join(json.dumps(line) + "\n" for line in lines)
    printed = run(node(), program, stage.base, stage.wallets[chain], input=given)
    return [json.loads(line) for line in printed.splitlines()]


def mined(stage: Stage, chain: int, call: Call) -> None:
    tx_hash = call.send(stage.nodes[chain])
    while not stage.nodes[chain].receipt(tx_hash):
        time.sleep(0.2)


@pytest.fixture
def funded(stage: Stage) -> Stage:
    for chain in (LEFT, RIGHT):
        mined(stage, chain, USDX.call(DEPLOYER, "mint", USERS[0], PLENTY))
    return stage


@pytest.mark.parametrize(
    ("symbol", "src", "dst", "transactions"),
    [
        ("USDX", LEFT, RIGHT, SENT_WITH_TWO_APPROVALS),
        ("COIN", LEFT, RIGHT, SENT),
        ("PEG", LEFT, RIGHT, SENT_WITH_TWO_APPROVALS),
        ("OLD", LEFT, RIGHT, SENT_WITH_TWO_APPROVALS),
        # The token's own contract burns, which uses no allowance up.
        ("PEG", RIGHT, LEFT, SENT_WITH_APPROVAL),
        ("OLD", RIGHT, LEFT, SENT_WITH_APPROVAL),
        ("TRI", RIGHT, LEFT, SENT_WITH_APPROVAL),
    ],
    ids=["pool", "native", "deposit", "deposit 1", "burn", "burn 1", "burn and mint"],
)
def test_quote_is_sent(funded: Stage, symbol: str, src: int, dst: int, transactions: int) -> None:
    """The contract takes it once, and the gateway reads it under the id that was known before."""
    before = funded.transactions(src, USERS[0])
    [row] = sent(funded, src, wanted(symbol, src, dst, native=symbol == "COIN"))
    assert row[:2] == ["success", "SendRefused"]
    assert funded.transactions(src, USERS[0]) - before == transactions


def test_small_allowance_is_set_to_zero_first(funded: Stage) -> None:
    mined(funded, LEFT, USDX.call(USERS[0], "approve", POOL.address, 1))
    before = funded.transactions(LEFT, USERS[0])
    [row] = sent(funded, LEFT, wanted("USDX", LEFT, RIGHT))
    assert row[0] == "success"
    sender = f"0x{USERS[0].hex()}"
    first, second, third = (
        funded.nodes[LEFT].rpc("eth_getTransactionBySenderAndNonce", sender, hex(before + place))
        for place in range(3)
    )
    expected = [USDX.call(USERS[0], "approve", POOL.address, amount) for amount in (0, AMOUNT)]
    assert [first["input"], second["input"]] == [f"0x{call.data.hex()}" for call in expected]
    assert third["to"] == POOL.text.lower()


def test_quote_is_not_sent_on_other_chain(funded: Stage) -> None:
    """Nothing of another chain's node is read first, such as an allowance."""
    [row] = sent(funded, RIGHT, wanted("PEG", LEFT, RIGHT))
    assert row == ["SendRefused", f"the transfer begins on chain {LEFT}, the node is of {RIGHT}"]


def test_expired_quote_is_requested_again(funded: Stage) -> None:
    """With the same nonce, and not for less than was shown."""
    fresh: dict[str, str] = {}
    less = {"eq_value_token_amt": "1"}
    rows = sent(
        funded,
        LEFT,
        wanted("USDX", LEFT, RIGHT, changes=[{"valid_until": PAST}, fresh]),
        wanted("USDX", LEFT, RIGHT, changes=[{"valid_until": PAST}, less]),
    )
    assert rows[0][0] == "success"
    assert rows[0][-1] == 1
    assert rows[1][0] == "QuoteExpired"
    assert "would bring 0 now, not " in rows[1][1]
