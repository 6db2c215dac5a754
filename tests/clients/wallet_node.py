"""A node that takes transactions of a wallet, and has a token like USDT: no allowance is changed unless to or
from 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from app.values.crypto import keccak256
from demo.rpc import Answer, answer, failure, success
from demo.wallet import listening

HASH, BLOCK = "0x" + "ab" * 32, "0x" + "cd" * 32
REVERTED = 3
ALLOWANCE, APPROVE = (
    f"0x{keccak256(text.encode())[:4].hex()}"
    for text in ("allowance(address,address)", "approve(address,uint256)")
)


@dataclass
class Node:
    """What it has, and the transactions that it took.

    :param refuses: whether the bridge's contract refuses calls.
    :param fails: whether an approval that is in a block has failed.
    """

    chain: int
    allowance: int = 0
    refuses: bool = False
    fails: bool = False
    sent: list[dict[str, Any]] = field(default_factory=list)

    @property
    def approved(self) -> list[int]:
        """The amount of each approval, in turn."""
        return [amount_of(each) for each in self.sent if each["data"].startswith(APPROVE)]

    def call(self, asked: dict[str, Any]) -> Answer:
        given = asked.get("params") or [{}]
        match asked["method"]:
            case "eth_chainId":
                return success(asked, hex(self.chain))
            case "eth_call" if given[0]["data"].startswith(ALLOWANCE):
                return success(asked, f"0x{self.allowance:064x}")
            case "eth_call" if self._refused(given[0]):
                return failure(asked.get("id"), REVERTED, "execution reverted")
            case "eth_call":
                return success(asked, "0x")
            case "eth_sendTransaction":
                self.sent.append(given[0])
                if given[0]["data"].startswith(APPROVE):
                    self.allowance = amount_of(given[0])
                return success(asked, HASH)
            case "eth_getTransactionReceipt":
                status = "0x0" if self.fails else "0x1"
                return success(asked, {"status": status, "blockHash": BLOCK, "transactionHash": HASH})
            case "eth_estimateGas" | "eth_gasPrice" | "eth_maxPriorityFeePerGas":
                return success(asked, "0x5208")
            case "eth_getBlockByNumber":
                return success(asked, {"gasLimit": "0x1c9c380", "baseFeePerGas": "0x1"})
        return failure(asked.get("id"), -32601, f"{asked['method']} is not here")

    def _refused(self, transaction: dict[str, Any]) -> bool:
        if transaction["data"].startswith(APPROVE):
            return bool(self.allowance and amount_of(transaction))
        return self.refuses

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Its address."""
        node = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = answer(self.rfile.read(int(self.headers["Content-Length"])), node.call)
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        with listening(Handler) as base:
            yield base


def amount_of(transaction: dict[str, Any]) -> int:
    """What an approval allows."""
    return int(transaction["data"][-64:], 16)
