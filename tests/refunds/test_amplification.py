"""However much was reported of a refund, its evidence costs as much as its answer is long."""

from __future__ import annotations

from typing import Any

import pytest

from app.refunds import queries
from app.transfers.rules.refund_signatures import MAX_WAITING
from app.transfers.rules.refunds import claimable
from app.transfers.rules.refunds.claimable import SHOWN_REQUESTS
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import keccak256, sign_digest
from tests.feed.services.world import signed
from tests.refunds.kit import PEOPLE, Gateway, Powers, Story, rotation

STORY = Story(SendKind.POOL)
SET: Powers = dict(zip(PEOPLE, (40, 30, 20, 10), strict=False))
MANY = 300


class Counted:
    """How often a function was called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.calls, function = 0, getattr(module, name)

        def counted(*arguments: Any) -> Any:
            self.calls += 1
            return function(*arguments)

        monkeypatch.setattr(module, name, counted)


def cost(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Events read and signers recovered for one answer."""
    with monkeypatch.context() as patched:
        read = Counted(patched, queries, "decode_event")
        recovered = Counted(patched, claimable, "recover_signer")
        response = gateway.client.get("/v2/getRefundEvidence", query_string={"transfer_id": STORY.id})
        assert response.get_json()["err"] is None
        return read.calls, recovered.calls


def strangers(number: int) -> list[dict[str, Any]]:
    """Well-formed signatures that may turn out right as long as no request is known."""
    return [signed(1, sign_digest(keccak256(b"%d" % n), PEOPLE[30])) for n in range(number)]


def test_useless_signatures_are_not_read(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway.take(rotation(1, SET))
    assert gateway.feed(*strangers(MANY)).accepted == MAX_WAITING, "no more wait"
    assert cost(gateway, monkeypatch) == (0, 0), "nothing but signatures is known"
    assert (gateway.status(STORY)["status"], gateway.evidence(STORY)["power_signed"]) == (
        Status.TRANSFER_UNKNOWN,
        "0",
    )
    gateway.take(STORY.sent(), STORY.prepared(), STORY.signed(PEOPLE[0]))
    assert gateway.evidence(STORY)["power_signed"] == "40"
    assert cost(gateway, monkeypatch) <= (3, 2)
    gateway.take(STORY.signed(PEOPLE[1]))
    assert gateway.status(STORY)["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    assert cost(gateway, monkeypatch) <= (4, 4)


def test_evidence_bounds_shown_refund_requests(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway.take(rotation(1, SET), STORY.sent())
    requests = [STORY.request(seqnum=n) for n in range(100, 160)]
    gateway.take(*(STORY.prepared(request) for request in requests))
    evidence = gateway.evidence(STORY)
    assert (evidence["status"], len(evidence["other_requests"])) == (
        Status.TRANSFER_REQUESTING_REFUND,
        SHOWN_REQUESTS - 1,
    )
    for key in (PEOPLE[0], PEOPLE[1]):
        gateway.take(STORY.signed(key, requests[-1]))
    assert gateway.status(STORY)["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED, (
        "the one that is signed is among them"
    )
    assert cost(gateway, monkeypatch)[0] <= SHOWN_REQUESTS + 4
