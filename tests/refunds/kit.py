"""Refunds of all three kinds, fed through the ingest and read over HTTP.

What the gateway serves is given to contracts in an EVM (``bridges.py``), which share no code with it.
"""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from eth_abi.abi import decode
from flask import Flask
from flask.testing import FlaskClient

from app.db.database import Database
from app.db.engine import reading_consistently
from app.feed.services.ingest import IngestResult
from app.http.application import part_of
from app.network.queries import load_network_facts
from app.network.snapshot import SnapshotSource
from app.refunds.queries import load_histories
from app.refunds.services import evidence_of
from app.transfers.rules.projected import transfer_state
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import address_of, checksum_address, keccak256
from app.values.identifiers import ChainId, TransferId
from tests.feed.services import world
from tests.feed.services.world import event, feed, prepared, sent, signature, signed, transfer_id

KINDS = tuple(SendKind)
PEOPLE = [keccak256(f"refund validator {n}".encode()) for n in range(40)]
"""Private keys of those who may come to be validators."""

Powers = dict[bytes, int]
"""Power by private key."""


def rotation(chain_id: int, powers: Powers, at: float = -200, **fields: Any) -> dict[str, Any]:
    """The chain's whole new validator set."""
    return event(
        "validators.updated",
        at=at,
        chain_id=chain_id,
        signers=[checksum_address(address_of(key)) for key in powers],
        powers=[str(power) for power in powers.values()],
        **fields,
    )


@dataclass(frozen=True)
class Story:
    """One transfer of some kind that is refunded."""

    kind: SendKind
    n: int = 1

    @property
    def chain(self) -> ChainId:
        """The source chain: CELR is burned on 2, everything else leaves from 1."""
        return ChainId(2 if self.kind is SendKind.BURN else 1)

    @property
    def contract(self) -> bytes:
        return world.contract(self.kind, self.chain)

    @property
    def token(self) -> bytes:
        """The source token's address."""
        symbol = "USDT" if self.kind is SendKind.POOL else "CELR"
        return bytes.fromhex(world.token(self.chain, symbol)[2:])

    @property
    def id(self) -> str:
        return transfer_id(self.n)

    def sent(self, **changes: Any) -> dict[str, Any]:
        symbol = "USDT" if self.kind is SendKind.POOL else "CELR"
        usual = {
            "kind": self.kind.value,
            "src_chain_id": self.chain,
            "dst_chain_id": 3 - self.chain,
            "symbol": symbol,
        }
        return sent(self.n, **(usual | changes))

    def request(self, **changes: Any) -> bytes:
        return world.request(self.n, self.kind, self.chain, **changes)

    def prepared(self, wd_onchain: bytes | None = None) -> dict[str, Any]:
        return prepared(self.n, wd_onchain or self.request())

    def signature(self, key: bytes, wd_onchain: bytes | None = None) -> bytes:
        return signature(wd_onchain or self.request(), key, self.kind, self.chain)

    def signed(self, key: bytes, wd_onchain: bytes | None = None) -> dict[str, Any]:
        return signed(self.n, self.signature(key, wd_onchain))


@dataclass(frozen=True)
class Gateway:
    """Feeds events and reads over HTTP. Each answer about a refund is compared with the other."""

    client: FlaskClient
    app: Flask

    def feed(self, *events: dict[str, Any]) -> IngestResult:
        return feed(self.app, *events)

    def take(self, *events: dict[str, Any]) -> None:
        """Feed events that must all be new and accepted."""
        verdict = self.feed(*events)
        assert (verdict.refused, verdict.accepted) == ([], len(events))

    def prove(self, story: Story, powers: Powers) -> None:
        """Feed a refund that all of these validators sign."""
        self.take(rotation(story.chain, powers), story.sent(), story.prepared())
        self.take(*(story.signed(key) for key in powers))

    def status(self, story: Story) -> dict[str, Any]:
        """The status answer, once the evidence answer agrees with it."""
        response = self.client.post("/v2/getTransferStatus", json={"transfer_id": story.id})
        assert response.status_code == 200
        answer: dict[str, Any] = response.get_json()
        served = [answer[name] for name in ("wd_onchain", "sorted_sigs", "signers", "powers")]
        assert all(served) if answer["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED else not any(served)
        assert_same(answer, self.evidence(story))
        return answer

    def evidence(self, story: Story) -> dict[str, Any]:
        """The evidence answer."""
        response = self.client.get("/v2/getRefundEvidence", query_string={"transfer_id": story.id})
        assert response.status_code == 200
        answer: dict[str, Any] = response.get_json()
        if answer["err"] is None:
            self._assert_nothing_left_out(story, answer)
        return answer

    def _assert_nothing_left_out(self, story: Story, answer: dict[str, Any]) -> None:
        """The interface reads what the refund rests on; the whole log has the same result."""
        with reading_consistently(part_of(self.app, Database).engine) as connection:
            history = load_histories(connection, [TransferId(bytes.fromhex(story.id[2:]))])
            facts = load_network_facts(connection)
        [whole] = history.values()
        status = transfer_state(whole, facts).status
        chain_infos = part_of(self.app, SnapshotSource).current().terms.chain_infos
        explained = json.loads(json.dumps(evidence_of(whole, status, facts, chain_infos).as_dict()))
        others = explained.pop("other_requests")
        assert explained == {name: answer[name] for name in explained}
        assert [each for each in others if each in answer["other_requests"]] == answer["other_requests"]


def assert_same(status: dict[str, Any], evidence: dict[str, Any]) -> None:
    """The evidence is valid exactly while the status is 8, and is what the status serves."""
    assert (evidence["err"] is None, evidence["status"]) == (status["err"] is None, status["status"])
    assert evidence["valid"] is (status["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED)
    if evidence["err"] is not None:
        return
    assert evidence["valid"] is not bool(evidence["missing"])
    if not evidence["valid"]:
        assert evidence["call"] is None or (evidence["call"]["arguments"], evidence["call"]["data"]) == (
            [],
            None,
        )
        assert evidence["transaction"] is None
        return
    assert evidence["transaction"] == {
        "chain_id": evidence["chain_id"],
        "to": evidence["contract"],
        "data": evidence["call"]["data"],
        "value": "0",
    }
    wd_onchain = b64decode(status["wd_onchain"])
    sigs, signers = ([b64decode(each) for each in status[name]] for name in ("sorted_sigs", "signers"))
    powers = [int.from_bytes(b64decode(each), "big") for each in status["powers"]]
    assert evidence["wd_onchain"] == status["wd_onchain"]
    rows = evidence["signers"]
    assert [row["signature"] for row in rows if row["signed"]] == ["0x" + sig.hex() for sig in sigs]
    assert [(row["address"], row["power"]) for row in rows] == [
        (checksum_address(who), str(power)) for who, power in zip(signers, powers, strict=True)
    ]
    data = bytes.fromhex(evidence["call"]["data"][2:])
    assert data[:4] == keccak256(evidence["call"]["signature"].encode())[:4]
    arguments = decode(["bytes", "bytes[]", "address[]", "uint256[]"], data[4:])
    # The call carries some of the signatures in their order: the fewest that reach the quorum.
    carried = list(arguments[1])
    assert [sig for sig in sigs if sig in carried] == carried
    signed = {bytes.fromhex(row["signature"][2:]): int(row["power"]) for row in rows if row["signed"]}
    needed, sums = 1, list(accumulate(sorted(signed.values(), reverse=True)))
    while sums[needed - 1] < int(evidence["quorum"]):
        needed += 1
    assert len(carried) == needed
    assert sum(signed[sig] for sig in carried) == sums[needed - 1]
    assert arguments == (
        wd_onchain,
        tuple(carried),
        tuple("0x" + who.hex() for who in signers),
        tuple(powers),
    )
