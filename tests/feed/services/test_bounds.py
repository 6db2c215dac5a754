"""One reporter cannot make a transfer so long that its projection and its answers cost seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Flask

from app.transfers.rules.events.bounds import MAX_OF_A_TYPE, MAX_REQUESTS
from app.values.crypto import keccak256, sign_digest
from tests.feed.services.world import KEYS, about, feed, prepared, request, sent, signature, signed

EVIL = "evil"


def statuses(first: int, count: int) -> list[dict[str, Any]]:
    """So many reports of one network status, each under an id of its own."""
    return [about(1, "network.status", at=-50, xfer_status=2) | {"id": f"s{first + n}"} for n in range(count)]


def requests(first: int, count: int) -> list[dict[str, Any]]:
    """Refund requests that nothing contradicts: they differ only in their sequence number."""
    return [prepared(1, request(1, seqnum=1000 + first + n)) for n in range(count)]


def test_statuses_of_one_transfer_have_a_bound(app: Flask, status: Callable[[int], Any]) -> None:
    """100,000 of them made each request for its evidence cost a second."""
    feed(app, sent(1))
    first = feed(app, *statuses(0, MAX_OF_A_TYPE - 10), reporter=EVIL)
    assert (first.accepted, first.refused) == (MAX_OF_A_TYPE - 10, [])
    second = feed(app, *statuses(MAX_OF_A_TYPE - 10, 100), reporter=EVIL)
    assert (second.accepted, len(second.refused)) == (10, 90)
    assert second.refused[0].reason.startswith(
        f"type: this reporter may send at most {MAX_OF_A_TYPE} events network.status"
    )
    again = feed(app, *statuses(0, 50), reporter=EVIL)
    assert (again.repeated, again.refused) == (50, []), "what is known is repeated as ever"


def test_bound_is_per_reporter_type_and_transfer(app: Flask, status: Callable[[int], Any]) -> None:
    feed(app, sent(1))
    feed(app, *statuses(0, MAX_OF_A_TYPE + 50), reporter=EVIL)
    honest = feed(app, about(1, "network.status", at=-10, xfer_status=9), reporter="honest")
    assert (honest.accepted, honest.refused) == (1, [])
    other = feed(app, about(1, "transfer.confirmed", at=-10), reporter=EVIL)
    assert other.accepted == 1, "another type"
    elsewhere = feed(app, sent(2), about(2, "network.status", at=-10, xfer_status=2), reporter=EVIL)
    assert elsewhere.accepted == 2, "another transfer"


def test_operator_may_ingest_any_log(app: Flask) -> None:
    many = feed(app, sent(1), *statuses(0, MAX_OF_A_TYPE + 50), reporter="cli")
    assert (many.accepted, many.refused) == (MAX_OF_A_TYPE + 51, [])


def test_requests_of_one_transfer_have_a_bound(app: Flask, status: Callable[[int], Any]) -> None:
    """Beside a thousand of them a signature cost 70 ms, and its refusal was 44 kB long."""
    feed(app, sent(1))
    result = feed(app, *requests(0, MAX_REQUESTS + 36), reporter=EVIL)
    assert (result.accepted, len(result.refused)) == (MAX_REQUESTS, 36)
    wrong = feed(app, signed(1, sign_digest(keccak256(b"wrong"), keccak256(b"stranger"))), reporter=EVIL)
    assert len(wrong.refused[0].reason) < 400
    right = request(1)
    signatures = [signed(1, signature(right, key)) for key in KEYS[:3]]
    honest = feed(app, prepared(1, right), *signatures, reporter="honest")
    assert (honest.accepted, honest.refused) == (4, [])
    assert status(1).status == 8
