"""One transfer of a random feed: everything that honest reporters can send of it, and what others can."""

from __future__ import annotations

import base64
import random
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from app.values.crypto import keccak256, sign_digest
from tests.feed.oracle.evidence import digest, encode
from tests.feed.oracle.reading import computed_ids, read
from tests.feed.oracle.world import (
    CHAINS,
    DECIMALS,
    KEYS,
    NOW,
    PEGGED,
    World,
    address,
    bridge,
    mint,
    network,
    token,
    vault,
)

Line = dict[str, Any]
WORLD: Final = World(network())


@dataclass
class Story:
    """One transfer, and all that is true or false of it.

    :ivar lines: with every field.
    """

    rng: random.Random
    n: int
    lines: list[Line] = field(default_factory=list)
    false_reports: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = self.rng
        self.kind = rng.choice(["pool", "pool", "pool", "deposit", "burn"])
        if self.kind == "pool":
            self.symbol = "USDT"
            self.source, self.destination = rng.sample(CHAINS, 2) if rng.random() < 0.5 else (1, 2)
            self.contract = bridge(self.source)
        else:
            self.symbol = rng.choice(list(PEGGED))
            two = PEGGED[self.symbol]
            self.source, self.destination = two if self.kind == "deposit" else two[::-1]
            self.contract = vault(self.symbol) if self.kind == "deposit" else mint(self.symbol)
        self.token = token(self.source, self.symbol)
        self.amount = rng.choice([1000, 10**6, 5_000_001])
        self.sender = address(rng.choice([0xAB, 0xABC]) << 40)
        self.block = rng.randrange(10, 16)
        self.paid_in = rng.randrange(20, 26)
        self.began = rng.randrange(-5000, -1000)
        self._report()

    def hash(self, what: object) -> str:
        return "0x" + keccak256(f"{self.n} {what}".encode()).hex()

    def add(self, event_type: str, at: float, event_id: str | None = None, **fields: Any) -> Line:
        when = (NOW + timedelta(seconds=self.began + at)).isoformat()
        line = {
            "id": event_id or f"{event_type} {self.n}",
            "type": event_type,
            "at": when,
            "transfer_id": self.id,
        }
        self.lines.append(line | fields)
        return self.lines[-1]

    def log_id(self, chain_id: int, block: int, what: object, index: int, more: str = "") -> str:
        return f"{chain_id}:{self.hash(('block', block))}:{self.hash(what)}:{index}{more}"

    def _report(self) -> None:
        rng = self.rng
        send: Line = {
            "kind": self.kind,
            "src_chain_id": self.source,
            "dst_chain_id": self.destination,
            "symbol": self.symbol,
            "token": self.token,
            "amount": str(self.amount),
            "sender": self.sender,
            "receiver": rng.choice([self.sender, address(0xFEED)]),
            "src_tx_hash": self.hash("send"),
            "nonce": self.n + 10,
            "max_slippage": 5000,
            "contract": self.contract,
            "block": self.block,
            "block_hash": self.hash(("block", self.block)),
            "log_index": 4,
        }
        self.id = "0x" + "00" * 32
        at = NOW.isoformat()
        self.id = next(
            computed_ids(
                read({"id": "", "type": "transfer.sent", "at": at, "transfer_id": self.id} | send, WORLD)
            )
        )
        is_proven = rng.random() < 0.8
        if not is_proven:
            send = {name: value for name, value in send.items() if name not in ("nonce", "contract")}
            self.id = self.hash("a chain that computes no ids") if rng.random() < 0.5 else self.id
        self.add("transfer.sent", 0, self.log_id(self.source, self.block, "send", 4), **send)
        other = {
            "src_tx_hash": self.hash("send again"),
            "block": self.block + 1,
            "block_hash": self.hash("other"),
        }
        self.add("transfer.sent", rng.choice([0, 12, -12]), f"sent in another block {self.n}", **send | other)
        if is_proven:
            less = {name: value for name, value in send.items() if name not in ("nonce", "contract")}
            self.add(
                "transfer.sent", -1, f"unproven {self.n}", **less | {"src_tx_hash": self.hash("unproven")}
            )
        self._report_progress()
        self._report_refund()
        self._report_falsely()

    def _on(self, chain_id: int, block: int, wrong: int) -> Line:
        """Where a log was read; sometimes on another chain than the transfer's own."""
        read_on = wrong if self.rng.random() < 0.25 else chain_id
        return {"chain_id": read_on, "block": block, "log_index": self.rng.randrange(9)}

    def _report_progress(self) -> None:
        rng, source, destination = self.rng, self.source, self.destination
        sender = {"symbol": self.symbol, "amount": str(self.amount), "sender": self.sender}
        announced = {"src_chain_id": source, "dst_chain_id": destination, "src_tx_hash": self.hash("send")}
        self.add("transfer.submitted", -30, f"announced {self.n}", **announced, **sender)
        self.add(
            "transfer.submitted",
            -20,
            f"announced again {self.n}",
            **announced | {"src_tx_hash": self.hash("first")},
        )
        at_send = self._on(source, self.block, destination)
        self.add(
            "transfer.confirmed",
            0,
            self.log_id(source, self.block, "send", 4, ":transfer.confirmed"),
            **at_send,
        )
        self.add("transfer.failed", 3, reason="reverted", **self._on(source, self.block, destination))
        for value in rng.sample(range(1, 10), 3):
            self.add("network.status", rng.randrange(40, 60), f"word {self.n} {value}", xfer_status=value)
        queued = self._on(destination, self.paid_in, source)
        paid = self._on(destination, self.paid_in + 1, source)
        self.add(
            "transfer.delayed", 90, dst_tx_hash=self.hash("delayed"), delayed_id=self.hash("queue"), **queued
        )
        units = (
            self.amount * 10 ** DECIMALS[destination] // 10 ** DECIMALS[source]
            if self.kind == "pool"
            else self.amount
        )
        release = {"dst_tx_hash": self.hash("paid"), "amount": str(max(1, units * 99 // 100)), **paid}
        self.add(
            "transfer.released",
            rng.choice([120, 120.25, 3000]),
            self.log_id(destination, self.paid_in, "paid", 2),
            **release,
        )
        self.add(
            "transfer.released",
            rng.choice([130, 110]),
            f"paid twice {self.n}",
            **release | {"dst_tx_hash": self.hash("twice")},
        )

    def _report_refund(self) -> None:
        rng, source = self.rng, self.source
        self.add("refund.requested", 200)
        requests = [
            self.request(),
            self.request(amount=self.amount - 1),
            self.request(amount=self.amount + 1),
        ]
        for number, request in enumerate(rng.sample(requests, rng.randrange(1, 3))):
            self.add("refund.prepared", 210, f"request {self.n} {number}", wd_onchain=_base64(request))
            for key in rng.sample(range(len(KEYS)), rng.randrange(2, len(KEYS) + 1)):
                signed = digest(self.kind, source, self.contract, request)
                signature = _base64(sign_digest(signed, KEYS[key]))
                self.add(
                    "refund.signed", 220 + key, f"signature {self.n} {number} {key}", signature=signature
                )
        claim = self.hash("claim")
        self.add("refund.submitted", 300, tx_hash=claim, **self._on(source, 30, self.destination))
        self.add(
            "refund.failed",
            310,
            tx_hash=rng.choice([claim, claim, self.hash("another")]),
            **self._on(source, 31, 3),
        )
        self.add(
            "refund.delayed",
            320,
            tx_hash=self.hash("queued"),
            delayed_id=self.hash("q"),
            **self._on(source, 31, 3),
        )
        self.add("refund.completed", 400, tx_hash=claim, **self._on(source, 32, self.destination))

    def request(self, **changes: int) -> bytes:
        """A refund request; ``seqnum`` is the same for several transfers, so their withdraw ids may be."""
        values = {"amount": self.amount, "seqnum": 5} | changes
        return encode(
            self.kind,
            chain=self.source,
            of=bytes.fromhex(self.id[2:]),
            receiver=bytes.fromhex(self.sender[2:]),
            token=bytes.fromhex(self.token[2:]),
            account=bytes(20),
            **values,
        )

    def _report_falsely(self) -> None:
        """What the bearer of a token of another chain can send, under its own ids or under true ones."""
        self.lines, true = [], self.lines
        foreign = self.rng.choice([each for each in CHAINS if each != self.source])
        early = -4000
        hers = {
            "src_chain_id": foreign,
            "dst_chain_id": self.source,
            "src_tx_hash": self.hash("lie"),
            "sender": address(0xBAD),
        }
        self.add("transfer.submitted", early, f"lie {self.n}", **hers)
        self.add("transfer.submitted", early, f"announced {self.n}", **hers)
        on = {"chain_id": foreign, "block": 1}
        self.add("transfer.released", early, f"lie {self.n} paid", dst_tx_hash=self.hash("lie"), **on)
        self.add("transfer.failed", early, f"lie {self.n} failed", **on)
        self.add("refund.completed", early, f"lie {self.n} refunded", **on)
        self.add("network.status", 999, f"lie {self.n} word", xfer_status=4)
        taken = self.rng.sample(true, 5)
        self.false_reports = [
            each | {"id": other["id"]} for each, other in zip(self.lines, taken, strict=False)
        ] + self.lines
        self.lines = true


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
