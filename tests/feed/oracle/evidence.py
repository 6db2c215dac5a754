"""Refund requests, who signed them, and who may (docs/interface/contracts.md; docs/refunds.md)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from app.values.crypto import BadSignature, keccak256, recover_signer
from tests.feed.oracle.facts import Canonical, Fact, Log
from tests.feed.oracle.world import World

NAMES: Final = {"pool": "WithdrawMsg", "deposit": "Withdraw", "burn": "Mint"}
FIELDS: Final = {
    "pool": ("chain", "seqnum", "receiver", "token", "amount", "of"),
    "deposit": ("token", "receiver", "amount", "account", "chain", "of"),
    "burn": ("token", "receiver", "amount", "account", "chain", "of"),
}
"""The fields of the three messages of proto/refund.proto by their numbers; ``of`` is the transfer."""


def encode(kind: str, **values: int | bytes) -> bytes:
    """A request. Numbers are varints, all else is bytes."""
    out = b""
    for number, name in enumerate(FIELDS[kind], start=1):
        value = values.get(name)
        if isinstance(value, int) and name != "amount":
            out += bytes([number << 3]) + _varint(value)
        elif value is not None:
            raw = value.to_bytes((value.bit_length() + 7) // 8, "big") if isinstance(value, int) else value
            out += bytes([number << 3 | 2]) + _varint(len(raw)) + raw
    return out


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


@lru_cache
def decode(kind: str, request: bytes) -> Mapping[str, Any] | None:
    """The fields of a request of this kind; None for bytes that are none."""
    found: dict[str, Any] = {}
    rest = request
    try:
        while rest:
            tag, rest = _take_varint(rest)
            name = FIELDS[kind][(tag >> 3) - 1]
            number, rest = _take_varint(rest)
            found[name] = number
            if tag & 7 == 2:
                found[name], rest = rest[:number], rest[number:]
    except IndexError:
        return None
    if not all(isinstance(found.get(name), bytes) for name in ("receiver", "token", "amount", "of")):
        return None
    found["amount"] = int.from_bytes(found["amount"], "big")
    return found if encode(kind, **found) == request else None


def _take_varint(data: bytes) -> tuple[int, bytes]:
    value = 0
    for place, byte in enumerate(data):
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value, data[place + 1 :]
    raise IndexError


def digest(kind: str, chain_id: int, contract: str, request: bytes) -> bytes:
    """What a validator signs."""
    domain = keccak256(chain_id.to_bytes(32, "big") + bytes.fromhex(contract[2:]) + NAMES[kind].encode())
    return keccak256(b"\x19Ethereum Signed Message:\n32" + keccak256(domain + request))


def withdraw_id(request: Mapping[str, Any]) -> str:
    """By which the pool bridge takes a request once."""
    numbers = b"".join(request[name].to_bytes(8, "big") for name in ("chain", "seqnum"))
    return (
        "0x"
        + keccak256(
            numbers + request["receiver"] + request["token"] + request["amount"].to_bytes(32, "big")
        ).hex()
    )


def validators(log: Log, world: World, chain_id: int, now: datetime) -> dict[str, int]:
    """The current set of a chain: the powers by address."""
    sets = Canonical(log, chain_id, now).all("validators.updated")
    if not sets:
        return world.validators(chain_id)
    latest = max(
        sets, key=lambda each: (*(each.body.get(n, -1) for n in ("block", "log_index")), each.at_and_id)
    )
    return dict(zip(latest.body["signers"], latest.body["powers"], strict=True))


def quorum(powers: Mapping[str, int]) -> int | None:
    """None for a set that cannot sign anything."""
    total = sum(powers.values())
    return total * 2 // 3 + 1 if 0 < total < 2**255 else None


class Evidence:
    """The requests of a transfer that nothing contradicts, and their signatures."""

    def __init__(self, log: Log, world: World, transfer: Canonical, now: datetime) -> None:
        self.log, self.world, self.transfer, self.now = log, world, transfer, now
        self.powers = validators(log, world, transfer.source, now) if transfer.source is not None else {}
        prepared = {base64.b64decode(each.body["wd_onchain"]) for each in transfer.all("refund.prepared")}
        self.requests = [request for request in prepared if not self.is_contradicted(request)]

    def is_contradicted(self, request: bytes) -> bool:
        send = self.transfer.send
        if send is None:
            return all(decode(kind, request) is None for kind in FIELDS) or self._is_used_up(request)
        found = decode(send.body["kind"], request)
        if found is None:
            return True
        token = token_of(send, self.world)
        return (
            found.get("chain") != send.body["src_chain_id"]
            or "0x" + found["of"].hex() != self.transfer.subject
            or "0x" + found["receiver"].hex() != send.body["sender"]
            or (token is not None and "0x" + found["token"].hex() != token)
            or not 0 < found["amount"] <= send.body["amount"]
            or (send.body["kind"] == "pool" and self._is_used_up(request))
        )

    def _is_used_up(self, request: bytes) -> bool:
        """Whether the pool bridge took its id for another transfer, or for a withdrawal of liquidity."""
        found = decode("pool", request)
        if found is None:
            return False
        used, of_chain = withdraw_id(found), Canonical(self.log, found["chain"], self.now)
        done = of_chain.all("withdraw.done") + of_chain.all("liquidity.withdrawn")
        done = [each for each in done if each.body.get("withdraw_id") == used]
        if any(each.body.get("ref_id") != self.transfer.subject for each in done):
            return True
        others = self.log.subjects() - {self.transfer.subject}
        refunded = (Canonical(self.log, each, self.now) for each in others if isinstance(each, str))
        return any(is_refunded(each) and _has(each, used) for each in refunded)

    def valid(self) -> dict[bytes, dict[str, bytes]]:
        """The requests that a quorum signed, with the least signature of each signer."""
        send, least = self.transfer.send, quorum(self.powers)
        if send is None or least is None:
            return {}
        contract = contract_of(send, self.world)
        if contract is None:
            return {}
        found = {}
        for request in self.requests:
            signatures = self._signatures(
                digest(send.body["kind"], send.body["src_chain_id"], contract, request)
            )
            if sum(self.powers[signer] for signer in signatures) >= least:
                found[request] = signatures
        return found

    def _signatures(self, signed: bytes) -> dict[str, bytes]:
        """By signer, in their order."""
        found: dict[str, bytes] = {}
        for each in self.transfer.all("refund.signed"):
            raw = base64.b64decode(each.body["signature"])
            signer = _signer(signed, raw)
            if signer in self.powers:
                found[signer] = min(raw, found.get(signer, raw))
        return dict(sorted(found.items()))


@lru_cache(maxsize=10_000)
def _signer(signed: bytes, raw: bytes) -> str:
    """Who made a signature; empty where nobody did."""
    try:
        return "0x" + recover_signer(signed, raw).hex()
    except BadSignature:
        return ""


def is_refunded(transfer: Canonical) -> bool:
    """Or on its way: what makes the id of its request used up."""
    return bool(transfer.all("refund.completed") or decision(transfer) == 7 or is_claimed(transfer))


def is_claimed(transfer: Canonical) -> bool:
    """Whether its refund is in a block, and did not fail, or waits in the delay queue."""
    failed = {each.body["tx_hash"] for each in transfer.all("refund.failed")}
    submitted = {each.body["tx_hash"] for each in transfer.all("refund.submitted")}
    return bool(submitted - failed or transfer.all("refund.delayed"))


def decision(transfer: Canonical) -> int:
    """The network's latest decision, 0 where there is none."""
    decisions = transfer.all("network.status")
    return int(max(decisions, key=lambda each: each.at_and_id).body["xfer_status"]) if decisions else 0


def _has(transfer: Canonical, used: str) -> bool:
    """Whether it has a request with this withdraw id."""
    prepared = (
        decode("pool", base64.b64decode(e.body["wd_onchain"])) for e in transfer.all("refund.prepared")
    )
    return any(each is not None and withdraw_id(each) == used for each in prepared)


def symbol_of(send: Fact, world: World) -> str | None:
    """As the send has it, else as its token's address is configured."""
    if "symbol" in send.body:
        return str(send.body["symbol"])
    return world.symbol(send.body["src_chain_id"], send.body.get("token", ""))


def token_of(send: Fact, world: World) -> str | None:
    """The address of what was sent."""
    if "token" in send.body:
        return str(send.body["token"])
    symbol, body = symbol_of(send, world), send.body
    return world.refunded_token(body["kind"], body["src_chain_id"], body["dst_chain_id"], symbol or "")


def contract_of(send: Fact, world: World) -> str | None:
    """The contract that refunds the send, if it is listed."""
    symbol, body = symbol_of(send, world), send.body
    if symbol is None and body["kind"] != "pool":
        return None
    listed = world.refunder(body["kind"], body["src_chain_id"], body["dst_chain_id"], symbol or "")
    named = body.get("contract")
    return listed if named is None or named == listed else None
