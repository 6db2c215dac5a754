"""The status of a transfer by the specification (docs/interface.md, "status table", "what left"), written
down apart from the code: it imports nothing of ``app``, and reads events as reporters send them.

Who signed what is known from who made the signature, so nothing is recovered from curves here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Event = Mapping[str, Any]

DONE, TO_BE_REFUNDED, REQUESTING, TO_BE_CONFIRMED = 10, 6, 7, 8
BAD = (3, 4, 5, 8, 9)
"""Network statuses that refuse a transfer."""

ON_SOURCE = {"transfer.sent", "transfer.confirmed", "transfer.failed"} | {
    f"refund.{what}" for what in ("submitted", "failed", "delayed", "completed")
}
RETRACTED = "events.retracted"
ON_DESTINATION = {"transfer.delayed", "transfer.released"}


@dataclass(frozen=True)
class Request:
    """A refund request, and what it would pay."""

    wd_onchain: str
    chain_id: int
    token: str
    amount: int


@dataclass(frozen=True)
class Answer:
    """What is answered about a transfer. ``served`` is the request of status 8."""

    status: int
    refund_reason: int = 0
    served: str | None = None


@dataclass
class Table:
    """All that was accepted, in its order; the network; and who requested their refund.

    :ivar log: events; a retraction by operators is one with ``targets``, the keys that it names.
    :ivar set_aside: signatures that no validator of their time had made.
    :ivar requests: refund requests by their base64.
    :ivar signatures: by the base64 of a signature the request, the contract and the signer.
    """

    network: Mapping[str, Any]
    requests: Mapping[str, Request]
    signatures: Mapping[str, tuple[str, str, str]]
    log: list[Event] = field(default_factory=list)
    set_aside: set[int] = field(default_factory=set)
    requested: set[str] = field(default_factory=set)

    def takers(self) -> list[tuple[int, Event]]:
        """What takes others back, each with its place in the log, unless it was retracted itself."""
        found: list[tuple[int, Event]] = []
        for place, event in reversed(list(enumerate(self.log))):
            if event["type"] in ("chain.reorged", RETRACTED) and not any(
                key_of(event) in later.get("targets", ()) for _, later in found
            ):
                found.insert(0, (place, event))
        return found

    def origin(self, transfer_id: str) -> Event:
        """What tells the two chains, whether or not it was orphaned: a send, else a submission."""
        retractions = [(at, taker) for at, taker in self.takers() if taker["type"] == RETRACTED]
        for kind in ("transfer.sent", "transfer.submitted"):
            named = [
                event
                for place, event in enumerate(self.log)
                if event["type"] == kind
                and event["transfer_id"] == transfer_id
                and not any(at > place and key_of(event) in taker["targets"] for at, taker in retractions)
            ]
            if named:
                return min(named, key=in_block_first)
        return {}

    def chain_of(self, event: Event) -> int | None:
        """The chain that the event's block belongs to."""
        if "transfer_id" not in event:
            return event.get("chain_id")
        origin = self.origin(event["transfer_id"])
        if event["type"] in ON_SOURCE:
            return origin.get("src_chain_id")
        return origin.get("dst_chain_id") if event["type"] in ON_DESTINATION else None

    def takes_back(self, taker: Event, event: Event) -> bool:
        """Whether the taker takes back an event that was accepted before it, but for confirmations."""
        if taker["type"] == "chain.reorged":
            block = event.get("block")
            return (
                block is not None
                and block >= taker["from_block"]
                and self.chain_of(event) == taker["chain_id"]
            )
        return key_of(event) in taker["targets"]

    def canonical(self) -> list[Event]:
        """The events that nothing accepted after them took back, each once."""
        takers = self.takers()
        taken_at = [
            next((at for at, taker in takers if at > place and self.takes_back(taker, event)), None)
            for place, event in enumerate(self.log)
        ]
        for send, end in zip(self.log, taken_at, strict=True):
            if send["type"] == "transfer.sent" and end is not None:
                for place, event in enumerate(self.log[:end]):
                    if event["type"] == "transfer.confirmed" and event["transfer_id"] == send["transfer_id"]:
                        taken_at[place] = end
        left = (e for e, end in zip(self.log, taken_at, strict=True) if end is None)
        return list({key_of(event): event for event in left}.values())

    def validators(self, chain_id: int | None, canonical: list[Event]) -> dict[str, int]:
        """Power by signer: of the latest rotation, else the configured set."""
        rotations = [e for e in canonical if e["type"] == "validators.updated" and e["chain_id"] == chain_id]
        if not rotations:
            own = [v for v in self.network["validators"] if v["chain_id"] == chain_id]
            return {v["signer"]: int(v["power"]) for v in own}
        latest = max(rotations, key=lambda e: (e.get("block", -1), e.get("log_index", -1), e["at"], e["id"]))
        return dict(zip(latest["signers"], map(int, latest["powers"]), strict=True))

    def paid_by(self, send: Event) -> tuple[str | None, str]:
        """The contract that pays the refund of a send, where it is known, and the token."""
        source, symbol = send["src_chain_id"], send["symbol"]
        listed = {(t["chain_id"], t["symbol"]): t["address"] for t in self.network["tokens"]}
        if send["kind"] == "pool":
            (chain,) = (c for c in self.network["chains"] if c["id"] == source)
            return chain["contract_addr"], listed[source, symbol]
        ends, side, token = ("org_chain_id", "pegged_chain_id"), "deposit", "org_token"
        if send["kind"] == "burn":
            ends, side, token = ("pegged_chain_id", "org_chain_id"), "burn", "pegged_token"
        for pair in self.network["pegged_pairs"]:
            if (pair["symbol"], pair[ends[0]], pair[ends[1]]) == (symbol, source, send["dst_chain_id"]):
                own = (pair.get(token) or {}).get("address") or listed[source, symbol]
                return pair[f"pegged_{side}_contract_addr"], own
        return None, listed[source, symbol]

    def agreeing(self, canonical: list[Event], send: Event | None) -> Iterator[Request]:
        """The requests among the events that no fact contradicts."""
        for text in {e["wd_onchain"] for e in canonical if e["type"] == "refund.prepared"}:
            request = self.requests[text]
            if send is None or (
                request.chain_id == send["src_chain_id"]
                and request.token == self.paid_by(send)[1]
                and request.amount <= int(send["amount"])
            ):
                yield request

    def has_quorum(
        self, request: Request, contract: str | None, signed: set[str], power: dict[str, int]
    ) -> bool:
        """Whether validators with more than two thirds of the power signed it for its contract."""
        made = {self.signatures[each] for each in signed}
        signers = {who for text, at, who in made if (text, at) == (request.wd_onchain, contract)}
        total = sum(power.values())
        return total < 2**256 and sum(power.get(who, 0) for who in signers) >= total * 2 // 3 + 1

    def answer(self, transfer_id: str) -> Answer | None:
        """The first line of the table that holds; None for a transfer that is not known."""
        if not any(
            e.get("transfer_id") == transfer_id and place not in self.set_aside
            for place, e in enumerate(self.log)
        ):
            return None
        every = self.canonical()
        canonical = [e for e in every if e.get("transfer_id") == transfer_id]
        types = {e["type"] for e in canonical}
        decision = max(
            ((e["at"], e["id"], e["xfer_status"]) for e in canonical if e["type"] == "network.status"),
            default=("", "", 0),
        )[2]
        send = send_of(canonical)
        agreeing = list(self.agreeing(canonical, send))
        signed = {e["signature"] for e in canonical if e["type"] == "refund.signed"}
        power = self.validators(send["src_chain_id"], every) if send else {}
        contract = self.paid_by(send)[0] if send else None
        ready = [r.wd_onchain for r in agreeing if send and self.has_quorum(r, contract, signed, power)]
        failed = {e["tx_hash"] for e in canonical if e["type"] == "refund.failed"}
        submitted = {e["tx_hash"] for e in canonical if e["type"] == "refund.submitted"}
        lines = {
            DONE: "refund.completed" in types or decision == 7,
            5: "transfer.released" in types,
            11: "transfer.delayed" in types,
            9: bool(submitted - failed) or "refund.delayed" in types,
            TO_BE_CONFIRMED: len(ready) == 1,
            REQUESTING: "refund.requested" in types
            or bool(agreeing)
            or decision == 6
            or (decision in BAD and transfer_id in self.requested),
            TO_BE_REFUNDED: decision in BAD,
            4: decision == 2,
            3: "transfer.confirmed" in types or decision == 1,
            1: "transfer.sent" in types,
            2: "transfer.failed" in types,
        }
        otherwise = 1 if "transfer.submitted" in types else 0
        status = next((status for status, holds in lines.items() if holds), otherwise)
        reason = decision if status == TO_BE_REFUNDED else 0
        return Answer(status, reason, ready[0] if status == TO_BE_CONFIRMED else None)


def key_of(event: Event) -> tuple[str, str]:
    """What names an event: its transfer, else its chain, and its id."""
    return str(event.get("transfer_id", event.get("chain_id"))), event["id"]


def send_of(canonical: list[Event]) -> Event | None:
    """The send that counts, of those of one transfer."""
    return min((e for e in canonical if e["type"] == "transfer.sent"), key=in_block_first, default=None)


def in_block_first(event: Event) -> tuple[int, str, str]:
    """What is in a block before what is not, then by time and id."""
    return event.get("block", 2**63), event["at"], event["id"]
