"""Signatures that come early, too many, or from a validator whose rotation is still to come."""

from __future__ import annotations

import base64
from collections.abc import Callable
from itertools import permutations
from typing import Any

from flask import Flask
from sqlalchemy import func, select

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.reprojection import replay
from app.feed.services.retract import retract_ids
from app.http.application import part_of
from app.refunds.models import SignatureAside, SignatureNotNeeded
from app.refunds.queries import load_histories
from app.transfers.models import Refund
from app.transfers.rules.refund_signatures import MAX_ASIDE, MAX_WAITING
from app.transfers.rules.refunds.request_checks import signing_digest
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import keccak256
from app.values.identifiers import ChainId
from tests.actors import TESTER
from tests.applications import Audited, audited_of
from tests.feed.services.world import (
    KEYS,
    about,
    contract,
    event,
    feed,
    forget_events,
    id_of,
    prepared,
    request,
    sent,
    signature,
    signed,
    state,
)
from tests.refunds.kit import rotation
from tests.refunds.rules.evidence_kit import sign_with_nonce

WD = request(1)
ID = id_of(1)
NEW = KEYS[4:7]


ROTATION = rotation(1, dict.fromkeys(NEW, 10), at=-20, block=110)
BY_NEW = [signed(1, signature(WD, key)) for key in NEW]


def count(database: Database, table: Any) -> int:
    with reading(database.engine) as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


def another_signature(key: bytes, nonce: int) -> bytes:
    """A signature of the request by this key that differs with the nonce (RFC 6979 would give one only)."""
    digest = signing_digest(SendKind.POOL, ChainId(1), contract(SendKind.POOL), WD)
    return sign_with_nonce(digest, key, nonce)


def assert_log_gives_the_same(app: Flask) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that answers are made of, which a replay must not change."""
    before = state(part_of(app, Database))
    replay(*audited_of(app), actor=TESTER)
    assert state(part_of(app, Database)) == before
    return before


class TestAside:
    def test_rotation_activates_waiting_signature(
        self, app: Flask, database: Database, status: Callable[[int], Any]
    ) -> None:
        """Without its being sent again."""
        verdict = feed(app, sent(1), prepared(1, WD), *BY_NEW)
        assert [refused.line for refused in verdict.refused] == [3, 4, 5]
        assert all(
            "must be made by a current validator of chain 1" in refused.reason for refused in verdict.refused
        )
        assert (status(1).status, count(database, SignatureAside)) == (Status.TRANSFER_REQUESTING_REFUND, 3)
        assert feed(app, ROTATION).accepted == 1
        assert (status(1).status, count(database, SignatureAside)) == (
            Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
            0,
        )
        assert feed(app, *BY_NEW).repeated == 3

    def test_any_order_gives_the_same(self, app: Flask, database: Database) -> None:
        found = []
        for order in permutations([sent(1), prepared(1, WD), ROTATION, BY_NEW[0]]):
            forget_events(app)
            feed(app, *BY_NEW[1:])
            for each in order:
                feed(app, each)
            found.append(state(database))
        assert found[0]["refunds"]
        assert all(each == found[0] for each in found)

    def test_signatures_aside_are_bounded_and_unique(self, app: Flask, database: Database) -> None:
        feed(app, sent(1), prepared(1, WD))
        strangers = [signed(1, signature(WD, keccak256(b"stranger %d" % n))) for n in range(MAX_ASIDE + 20)]
        for _ in range(2):
            assert len(feed(app, *strangers).refused) == len(strangers)
            assert count(database, SignatureAside) == MAX_ASIDE
        feed(app, sent(2), prepared(2, request(2)))
        feed(app, signed(2, signature(request(2), NEW[0])))
        assert count(database, SignatureAside) == MAX_ASIDE + 1, "the bound is that of a transfer"


class TestTooMany:
    def test_few_signatures_wait_for_their_request(self, app: Flask, status: Callable[[int], Any]) -> None:
        junk = [signed(1, signature(WD, keccak256(b"junk %d" % n))) for n in range(MAX_WAITING)]
        true = [signed(1, signature(WD, key)) for key in KEYS[:4]]
        verdict = feed(app, *junk, *true)
        assert (verdict.accepted, len(verdict.refused)) == (MAX_WAITING, 4)
        assert "64 signatures of this transfer already wait" in verdict.refused[0].reason
        feed(app, sent(1), prepared(1, WD))
        assert status(1).status == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
        assert feed(app, *true).repeated == 4

    def test_least_signature_wins_in_any_order(self, app: Flask, database: Database) -> None:
        many = [signed(1, another_signature(KEYS[0], nonce)) for nonce in range(1000, 1040)]
        found = []
        for order in (many, many[::-1], sorted(many, key=lambda e: e["signature"])):
            forget_events(app)
            feed(app, sent(1), prepared(1, WD))
            for start in range(0, len(order), 16):
                verdict = feed(app, *order[start : start + 16])
                assert verdict.accepted == len(order[start : start + 16])
            assert feed(app, *many).repeated == len(many)
            feed(app, event("chain.reorged", chain_id=1, from_block=100), sent(1))
            assert feed(app, *many).repeated == len(many), "also after a reorganisation"
            feed(app, signed(1, signature(WD, KEYS[1])))
            with reading(database.engine) as connection:
                log = load_histories(connection, [ID])[ID].log
                served = connection.scalar(select(Refund.sorted_sigs))
            assert sum(logged.event.type == "refund.signed" for logged in log) == 2
            found.append((state(database), served))
        assert found[0] == found[1] == found[2]
        least = min(many, key=lambda each: base64.b64decode(each["signature"]))
        assert least["signature"] in (served or [])

    def test_copied_signatures_return_on_retraction(
        self, app: Flask, database: Database, audited: Audited, status: Callable[[int], Any]
    ) -> None:
        """A retraction brings them back."""
        copies = [signed(1, signature(WD, KEYS[0]), at=-30 - n) for n in range(20)]
        feed(app, sent(1), prepared(1, WD), signed(1, signature(WD, KEYS[1])), *copies)
        assert (status(1).status, count(database, SignatureNotNeeded)) == (
            Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
            19,
        )
        retract_ids(*audited, [copies[-1]["id"]], "wrong", actor=TESTER)
        assert (status(1).status, count(database, SignatureNotNeeded)) == (
            Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
            18,
        )
        retract_ids(*audited, [each["id"] for each in copies[:-1]], "wrong", actor=TESTER)
        assert (status(1).status, count(database, SignatureNotNeeded)) == (
            Status.TRANSFER_REQUESTING_REFUND,
            0,
        )
        assert feed(app, copies[3]).accepted == 1
        assert status(1).status == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
        assert_log_gives_the_same(app)


def test_signature_of_other_request_is_needed(
    app: Flask, database: Database, status: Callable[[int], Any]
) -> None:
    other = request(1, amount=5)
    feed(app, sent(1), prepared(1, WD), prepared(1, other), about(1, "refund.requested"))
    both = [signed(1, signature(wd, key)) for wd in (WD, other) for key in KEYS[:2]]
    assert feed(app, *both).accepted == 4
    assert (status(1).status, count(database, SignatureNotNeeded)) == (Status.TRANSFER_REQUESTING_REFUND, 0)


def test_malformed_signature_is_not_quarantined(app: Flask, database: Database) -> None:
    feed(app, sent(1), prepared(1, WD))
    assert len(feed(app, signed(1, bytes(65)), signed(1, b"x")).refused) == 2
    assert count(database, SignatureAside) == 0
