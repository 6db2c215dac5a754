"""Refunds of every kind at random: what is served is what the contracts would pay.

Sends of listed and unlisted tokens, to chains with a pair, without one, and beyond what can be configured;
validators that cannot sign, are too many or have too much power; withdraw ids that others use up.
"""

from __future__ import annotations

import base64
import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from flask import Flask

from app.transfers.rules.refunds.request_checks import signing_digest
from app.transfers.rules.refunds.request_message import RefundRequest, encode_request
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import address_of, checksum_address, sign_digest
from app.values.identifiers import ChainId
from tests.amounts import few_or_many
from tests.contract.evm.machine import Bridge, Call, Chain, Reverted
from tests.feed.services import world
from tests.feed.services.world import SENDER, about, address, event, forget_events, sent
from tests.refunds.bridges import known_call
from tests.refunds.kit import KINDS, PEOPLE, Gateway

FIRST_SEED = 1000
STEPS = 30
CHAINS = {SendKind.POOL: ChainId(1), SendKind.DEPOSIT: ChainId(1), SendKind.BURN: ChainId(2)}
UNLISTED = bytes.fromhex(address(7777)[2:])
HUGE = 2**256 - 1
POWERS = [(1, 1, 1), (3, 2, 2), (), (0, 0, 0), (HUGE, 0, 0), (HUGE, HUGE, 1), (2**255, 1, 1)]
Members = list[tuple[bytes, int]]


@dataclass
class Sent:
    """A transfer, and the requests for its refund."""

    n: int
    kind: SendKind
    token: bytes
    amount: int
    requests: list[bytes] = field(default_factory=list)

    @property
    def id(self) -> str:
        return world.transfer_id(self.n)


class Play:
    """A gateway and the contracts of its chains, to which the same things happen."""

    def __init__(self, gateway: Gateway, rng: random.Random) -> None:
        self.gateway, self.rng = gateway, rng
        chains = {number: Chain(number) for number in (1, 2)}
        self.bridges = {
            kind: Bridge(kind.value, chains[CHAINS[kind]], world.contract(kind, CHAINS[kind]), {})
            for kind in KINDS
        }
        for kind, bridge in self.bridges.items():
            for token in (self.listed(kind), UNLISTED):
                placed = bridge.chain.place("Token", token)
                if kind is not SendKind.BURN:
                    placed.call("mint", bridge.at.address, 10**30)
        self.sends: list[Sent] = []
        self.members: dict[int, Members] = {1: [], 2: []}
        self.block = {1: 100, 2: 100}
        self.compared = 0

    @staticmethod
    def listed(kind: SendKind) -> bytes:
        symbol = "USDT" if kind is SendKind.POOL else "CELR"
        return bytes.fromhex(world.token(CHAINS[kind], symbol)[2:])

    def in_block(self, chain: int) -> dict[str, Any]:
        """A block of its own on the chain."""
        self.block[chain] += 1
        return {"block": self.block[chain], "log_index": 0}

    def send(self) -> None:
        kind, n = self.rng.choice(KINDS), len(self.sends) + 1
        token = self.rng.choice([self.listed(kind), UNLISTED])
        chain = CHAINS[kind]
        each = Sent(n, kind, token, self.rng.choice([5, 1_000_000]))
        symbol = {} if token == UNLISTED else {"symbol": "USDT" if kind is SendKind.POOL else "CELR"}
        far = [1, 77, 2**64 - 1] if kind is SendKind.BURN else [2, 77, 2**64 - 1]
        fields = {
            "kind": kind.value, "src_chain_id": chain, "dst_chain_id": self.rng.choice(far),
            "token": checksum_address(token), "contract": checksum_address(self.bridges[kind].at.address),
            "amount": str(each.amount), **self.in_block(chain),
        }  # fmt: skip
        send = sent(n, **fields)
        del send["symbol"]
        self.gateway.take(send | symbol)
        self.sends.append(each)

    def rotate(self) -> None:
        chain = self.rng.choice([1, 2])
        keys = self.rng.sample(PEOPLE[:6], 3)
        powers = self.rng.choice(
            [(1, 1, 1), (3, 2, 2), (0, 0, 0), (HUGE, 0, 0), (HUGE, HUGE, 1), (2**255, 1, 1)]
        )
        members = (
            [] if self.rng.random() < 0.2 else [(address_of(k), p) for k, p in zip(keys, powers, strict=True)]
        )
        if members and self.rng.random() < 0.1:
            members += [(n.to_bytes(20, "big"), 0) for n in range(1, 297)]
        self.members[chain] = sorted(members)
        signers, numbers = [who for who, _ in sorted(members)], [power for _, power in sorted(members)]
        for kind, bridge in self.bridges.items():
            if CHAINS[kind] == chain:
                bridge.reset(signers, numbers)
        self.gateway.take(
            event(
                "validators.updated", at=-500 + self.block[chain] / 10, chain_id=chain,
                signers=[checksum_address(who) for who in signers], powers=list(map(str, numbers)),
                **self.in_block(chain),
            )
        )  # fmt: skip

    def prepare(self) -> None:
        if not self.sends:
            return
        each = self.rng.choice(self.sends)
        request: dict[str, Any] = {
            "kind": each.kind, "receiver": bytes.fromhex(SENDER[2:]), "token": each.token,
            "amount": each.amount, "ref_id": bytes.fromhex(each.id[2:]),
        }  # fmt: skip
        if each.kind is SendKind.POOL:
            request |= {"chain_id": 1, "seqnum": 7 + each.n % 2}  # every second one has the id of another
        else:
            other = "burn_account" if each.kind is SendKind.DEPOSIT else "depositor"
            request |= {"ref_chain_id": CHAINS[each.kind], other: bytes(20)}
        wd_onchain = encode_request(RefundRequest(**request))
        self.gateway.feed(about(each.n, "refund.prepared", wd_onchain=base64.b64encode(wd_onchain).decode()))
        each.requests = [wd_onchain]

    def sign(self) -> None:
        requested = [each for each in self.sends if each.requests]
        if not requested:
            return
        each = self.rng.choice(requested)
        wd_onchain = self.rng.choice(each.requests)
        for key in self.rng.sample(PEOPLE[:6], self.rng.randrange(1, 6)):
            signature = self._signature(each.kind, wd_onchain, key)
            self.gateway.feed(about(each.n, "refund.signed", signature=base64.b64encode(signature).decode()))

    def _signature(self, kind: SendKind, wd_onchain: bytes, key: bytes) -> bytes:
        contract = self.bridges[kind].at.address
        return sign_digest(signing_digest(kind, CHAINS[kind], contract, wd_onchain), key)

    def withdraw_liquidity(self) -> None:
        """A provider's withdrawal that all validators signed: it may use up the id of a refund."""
        token = self.rng.choice([self.listed(SendKind.POOL), UNLISTED])
        request = RefundRequest(
            kind=SendKind.POOL, chain_id=ChainId(1), seqnum=self.rng.choice([7, 8]), token=token, amount=5,
            receiver=bytes.fromhex(SENDER[2:]), ref_id=bytes(32),
        )  # fmt: skip
        wd_onchain = encode_request(request)
        keys = sorted(PEOPLE[:6], key=address_of)
        current = {who for who, _ in self.members[1]}
        sigs = [self._signature(SendKind.POOL, wd_onchain, key) for key in keys if address_of(key) in current]
        call = Call(wd_onchain, sigs, *map(list, zip(*self.members[1], strict=True))) if sigs else None
        bridge = self.bridges[SendKind.POOL]
        try:
            done = bridge.at.send(bridge.data(call)).event("WithdrawDone") if call else None
        except Reverted:
            return
        if done is not None:
            self.gateway.take(self._taken(done))

    def _taken(self, done: dict[str, Any]) -> dict[str, Any]:
        """What a watcher reports of the pool's WithdrawDone."""
        reference = {"ref_id": "0x" + done["refid"].hex()} if any(done["refid"]) else {}
        withdraw_id = "0x" + done["withdrawId"].hex()
        return event("withdraw.done", chain_id=1, withdraw_id=withdraw_id, **reference, **self.in_block(1))

    def claim(self) -> None:
        """The user sends what is served."""
        ready = [each for each in self.sends if self._status(each) == Status.TRANSFER_REFUND_TO_BE_CONFIRMED]
        if not ready:
            return
        each = self.rng.choice(ready)
        evidence = self._evidence(each)
        bridge = self.bridges[each.kind]
        done = bridge.at.send(bytes.fromhex(evidence["call"]["data"][2:]))
        chain = CHAINS[each.kind]
        fields = {"tx_hash": "0x" + f"{each.n:02x}" * 32, "chain_id": chain, **self.in_block(chain)}
        self.gateway.take(about(each.n, "refund.submitted", **fields))
        self.gateway.take(*(self._taken(event) for name, event in done.events if name == "WithdrawDone"))

    def _status(self, each: Sent) -> int:
        answer = self.gateway.client.post("/v2/getTransferStatus", json={"transfer_id": each.id}).get_json()
        return int(answer["status"])

    def _evidence(self, each: Sent) -> dict[str, Any]:
        answer = self.gateway.client.get(
            "/v2/getRefundEvidence", query_string={"transfer_id": each.id}
        ).get_json()
        assert isinstance(answer, dict)
        return answer

    def compare(self) -> None:
        """Compare each refund with the contract: it pays exactly what is served."""
        for each in self.sends:
            if not each.requests:
                continue
            status, evidence = self._status(each), self._evidence(each)
            assert evidence["valid"] is (status == 8)
            if evidence["wd_onchain"] is None:
                continue
            verdict = self.bridges[each.kind].outcome_of(known_call(evidence))
            self.compared += 1
            if status == 8:
                assert verdict == evidence["digest"], (each, verdict)
            else:
                assert not verdict.startswith("0x"), (each, status, evidence["missing"])


@pytest.mark.parametrize("histories", few_or_many(2, 60))
def test_served_equals_paid_by_contract(gateway: Gateway, app: Flask, histories: int) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + histories):
        forget_events(app)
        rng = random.Random(seed)
        play = Play(gateway, rng)
        steps = [play.send, *[play.prepare] * 2, *[play.sign] * 6]
        steps += [play.rotate, play.withdraw_liquidity, play.claim]
        for begin in (play.rotate, *[play.send] * 4, *[play.prepare] * 8):
            begin()
        for _ in range(STEPS):
            rng.choice(steps)()
            play.compare()
        assert play.compared > STEPS
