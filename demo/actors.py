"""Who acts in the demonstration: users, relayers and validators, as the gateway's answers ask for."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import httpx

from app.values.codes import SendKind, TransferHistoryStatus
from demo.anvil import Anvil
from demo.contracts import Call
from demo.transfers import Send
from demo.validators import Validators

Say = Callable[[str], None]

OF_THE_USER: Final = ("refund requested", "withdrawn", "refund executed")
"""What is the user's to do about a refund: done already, where a ``Life`` is to leave it to somebody else."""


@dataclass
class Gateway:
    """The gateway, over HTTP: the public answers and the feed of the network's reporters."""

    base: str
    token: str
    _client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=20, trust_env=False))
    _reported: int = 0

    def ready(self) -> bool:
        try:
            return self._client.get(f"{self.base}/healthz").status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def status(self, send: Send) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._client.post(
            f"{self.base}/v2/getTransferStatus", json={"transfer_id": send.text}
        ).json()
        return answer

    def report(self, send: Send, event_type: str, **fields: Any) -> None:
        """Report an event about a transfer."""
        self._reported += 1
        event = {
            "id": f"demo:{self._reported}",
            "type": event_type,
            "at": datetime.now(UTC).isoformat(),
            "transfer_id": send.text,
            **fields,
        }
        self._client.post(
            f"{self.base}/ingest/v1/events",
            content=json.dumps(event),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/x-ndjson"},
        ).raise_for_status()


@dataclass
class Life:
    """One transfer and those who move it on.

    :param refunded: the network gives it up, and the user is paid back.
    :param fails: its transaction is announced and never comes.
    """

    name: str
    send: Send
    gateway: Gateway
    nodes: Mapping[int, Anvil]
    validators: Validators
    say: Say
    refunded: bool = False
    fails: bool = False
    status: int = 0
    done: set[str] = field(default_factory=set)
    seen: list[int] = field(default_factory=list)
    since: float = 0.0

    @property
    def over(self) -> bool:
        return self.status in {
            TransferHistoryStatus.TRANSFER_FAILED,
            TransferHistoryStatus.TRANSFER_COMPLETED,
            TransferHistoryStatus.TRANSFER_REFUNDED,
        }

    def begin(self) -> None:
        """The user announces the transaction, and sends it."""
        self.gateway.report(self.send, "transfer.submitted", src_chain_id=self.send.chain)
        if not self.fails:
            self._call(self.send.chain, self.send.call())

    def step(self) -> None:
        """Look at the status, say when it has changed, and do what follows."""
        answer = self.gateway.status(self.send)
        if answer["status"] != self.status:
            self.status, self.since = answer["status"], time.monotonic()
            self.seen.append(self.status)
            word = TransferHistoryStatus(self.status).name
            self.say(f"{self.name:<28} {self.send.text[:10]}…  {self.status:>2} {word}")
        match self.status:
            case TransferHistoryStatus.TRANSFER_SUBMITTING if self.fails and self._waited(5):
                self._once("failed", lambda: self.gateway.report(self.send, "transfer.failed"))
            case TransferHistoryStatus.TRANSFER_WAITING_FOR_NET_CONFIRMATION:
                self._once("decided", self._decide)
            case TransferHistoryStatus.TRANSFER_WAITING_FOR_FUND_RELEASE if self._waited(2):
                self._once("paid", self._pay)
            case TransferHistoryStatus.TRANSFER_DELAYED:
                self._try("executed", self.send.to_chain, self.send.execution())
            case TransferHistoryStatus.TRANSFER_TO_BE_REFUNDED if self._waited(3):
                self._once("refund requested", lambda: self.gateway.report(self.send, "refund.requested"))
            case TransferHistoryStatus.TRANSFER_REQUESTING_REFUND if self._waited(2):
                self._once("signed", self._sign)
            case TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED if self._waited(3):
                self._once("withdrawn", lambda: self._withdraw(answer))
            case TransferHistoryStatus.TRANSFER_CONFIRMING_YOUR_REFUND:
                self._try("refund executed", self.send.chain, self.send.execution(refund=True))

    def _waited(self, seconds: float) -> bool:
        """Time to look at each status."""
        return time.monotonic() - self.since >= seconds

    def _once(self, what: str, act: Callable[[], None]) -> None:
        if what not in self.done:
            self.done.add(what)
            act()

    def _call(self, chain: int, call: Call) -> None:
        call.send(self.nodes[chain])

    def _decide(self) -> None:
        """The network takes the transfer, or finds that it brings less than the user takes (BAD_SLIPPAGE)."""
        self.gateway.report(self.send, "network.status", xfer_status=4 if self.refunded else 2)

    def _pay(self) -> None:
        self._call(self.send.to_chain, self.send.payout(self.validators))

    def _sign(self) -> None:
        request = self.send.refund_request
        self.gateway.report(self.send, "refund.prepared", wd_onchain=base64.b64encode(request).decode())
        for signature in self.validators.signatures(
            self.send.chain, self.send.contract.address, self.send.refund_purpose, request
        ):
            self.gateway.report(self.send, "refund.signed", signature=base64.b64encode(signature).decode())

    def _withdraw(self, answer: Mapping[str, Any]) -> None:
        """The user calls the contract with the answer, and nothing else."""
        sigs, signers, powers = (
            [base64.b64decode(each) for each in answer[name]] for name in ("sorted_sigs", "signers", "powers")
        )
        function = "mint" if self.send.kind is SendKind.BURN else "withdraw"
        numbers = [int.from_bytes(each, "big") for each in powers]
        request = base64.b64decode(answer["wd_onchain"])
        call = self.send.contract.call(self.send.sender, function, request, sigs, signers, numbers)
        self._call(self.send.chain, call)

    def _try(self, what: str, chain: int, call: Call) -> None:
        """Ask the contract for what it holds back. It refuses until the delay is over."""
        if what in self.done or not self._waited(1):
            return
        node = self.nodes[chain]
        if node.would_succeed(call.sender, call.to, call.data):
            self.done.add(what)
            self._call(chain, call)
