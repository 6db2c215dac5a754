"""What the tutorial's reader sends is found in the logs of a chain, and paid or refused by its tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from eth_abi.abi import encode

from app.values.codes import SendKind
from app.values.crypto import checksum_address, keccak256
from demo.actors import Gateway
from demo.anvil import Anvil
from demo.chains import ELSEWHERE, LEFT, PEG, RIGHT, USDX, USERS
from demo.reader import ACCOUNT, PRICE_MOVES_PPM, Senders
from demo.transfers import Send
from tests.clients.network import VALIDATORS

AMOUNT = 25_000_000
TYPES = ["bytes32", "address", "address", "address", "uint256", "uint64", "uint64", "uint32"]
TOPIC = f"0x{keccak256(('Send(' + ','.join(TYPES) + ')').encode()).hex()}"


def log_of(
    nonce: int, tolerance: int, *, sender: bytes = ACCOUNT, token: bytes = USDX.address, to: int = RIGHT
) -> Mapping[str, Any]:
    """The log of a send."""
    addresses = [checksum_address(each) for each in (sender, sender, token)]
    data = encode(TYPES, [bytes(32), *addresses, AMOUNT, to, nonce, tolerance])
    return {"topics": [TOPIC], "data": f"0x{data.hex()}"}


class ChainOfLogs:
    """A node that has these logs in its first block."""

    head = 1

    def __init__(self, *logs: Mapping[str, Any]) -> None:
        self._logs = logs

    def rpc(self, method: str, blocks: Mapping[str, str]) -> list[Mapping[str, Any]]:
        assert method == "eth_getLogs"
        return list(self._logs) if int(blocks["fromBlock"], 16) <= 1 <= int(blocks["toBlock"], 16) else []


def senders(node: ChainOfLogs) -> Senders:
    return Senders(Gateway("http://nowhere", ""), {LEFT: cast("Anvil", node)}, VALIDATORS, print)


def test_sends_are_found_once() -> None:
    node = ChainOfLogs(log_of(1, PRICE_MOVES_PPM), log_of(2, PRICE_MOVES_PPM - 1))
    found = senders(node)
    lives = list(found.begun())
    assert [(life.send.nonce, life.refunded) for life in lives] == [(1, False), (2, True)]
    node.head = 2
    assert list(found.begun()) == []


def test_others_sends_are_left() -> None:
    """Those of the demonstration's users, whom it moves on already, and those that it cannot pay."""
    own, other = log_of(1, 5000, sender=USERS[0]), log_of(2, 5000, token=PEG.address)
    nowhere = log_of(3, 5000, to=ELSEWHERE)
    assert list(senders(ChainOfLogs(own, other, nowhere)).begun()) == []


def test_moved_price_lessens_payout() -> None:
    send = Send(SendKind.POOL, LEFT, RIGHT, AMOUNT, 1, ACCOUNT, ACCOUNT, moved_ppm=PRICE_MOVES_PPM)
    assert send.arriving == 24_997_500_000_000_000_000
