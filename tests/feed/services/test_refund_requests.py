"""A user's refund request moves a transfer from 6 to 7 and nothing else, whenever it comes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.projection.transfers import project_again
from app.feed.services.ingest import Intake
from app.feed.services.prune import prune
from app.feed.services.reprojection import replay
from app.feed.services.retract import retract_ids
from app.network.queries import load_network_facts
from app.refunds.models import UserRefundRequest
from app.values.codes import XferStatus
from tests.actors import TESTER
from tests.amounts import costly
from tests.applications import Audited
from tests.feed.services.any_order import arrival, ingest, of_transfer
from tests.feed.services.world import (
    NOW,
    about,
    event,
    feed,
    forget_events,
    id_of,
    prepared,
    released,
    request,
    sent,
    state,
)

Status = Callable[[int], Any]

pytestmark = pytest.mark.every_database


def request_refund(database: Database, n: int, at: float = -20) -> None:
    """The request as the service stores it, at any status."""
    key = id_of(n)
    with writing(database.engine) as connection:
        connection.execute(insert(UserRefundRequest), {"transfer_id": key, "at": NOW + timedelta(seconds=at)})
        project_again(connection, [key], load_network_facts(connection), NOW)


def bad(n: int, at: float = -50, value: XferStatus = XferStatus.BAD_SLIPPAGE) -> dict[str, Any]:
    return about(n, "network.status", at=at, xfer_status=int(value))


def held(row: Any) -> tuple[int, int]:
    return row.status, row.refund_reason


def test_request_counts_while_status_is_6(app: Flask, database: Database, status: Status) -> None:
    feed(app, sent(1), bad(1))
    request_refund(database, 1)
    assert held(status(1)) == (7, 0)
    assert status(1).status_since == NOW - timedelta(seconds=20)
    assert status(1).updated_at == NOW - timedelta(seconds=20)


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ([about(1, "network.status", at=-10, xfer_status=2)], (4, 0)),
        ([about(1, "network.status", at=-10, xfer_status=1)], (3, 0)),
        ([about(1, "network.status", at=-10, xfer_status=6)], (7, 0)),
        ([released(1)], (5, 0)),
        ([about(1, "transfer.delayed")], (11, 0)),
        ([about(1, "refund.submitted", tx_hash="0x" + "44" * 32)], (9, 0)),
        ([about(1, "refund.completed")], (10, 0)),
        ([bad(1, -5, XferStatus.BAD_TOKEN)], (7, 0)),
        ([about(1, "network.status", at=-10, xfer_status=2), bad(1, -5)], (7, 0)),
        ([prepared(1, request(1))], (7, 0)),
        ([event("chain.reorged", chain_id=1, from_block=1)], (7, 0)),
    ],
)
def test_request_masks_no_later_status(
    app: Flask, database: Database, status: Status, later: list[dict[str, Any]], expected: tuple[int, int]
) -> None:
    feed(app, sent(1), bad(1))
    request_refund(database, 1)
    feed(app, *later)
    assert held(status(1)) == expected


def test_retracted_decision_ends_the_request(
    app: Flask, database: Database, audited: Audited, status: Status
) -> None:
    refusal = bad(1)
    feed(app, sent(1), refusal)
    request_refund(database, 1)
    retract_ids(*audited, [refusal["id"]], "a mistake", actor=TESTER)
    assert held(status(1)) == (1, 0)


def test_decision_after_request_dates_status(app: Flask, database: Database, status: Status) -> None:
    feed(app, sent(1), bad(1))
    request_refund(database, 1)
    feed(app, bad(1, -5, XferStatus.BAD_TOKEN))
    assert status(1).status_since == NOW - timedelta(seconds=5)


@costly
@given(data=st.data())
def test_request_counts_in_any_order(app: Flask, database: Database, data: st.DataObject) -> None:
    """The request among everything that can be reported of its transfer, at any place."""
    events = data.draw(st.lists(st.sampled_from(of_transfer(1)), max_size=12, unique_by=repr))
    events = [sent(1), *data.draw(st.lists(st.sampled_from([bad(1), bad(1, -49)]), max_size=2)), *events]

    def once() -> Any:
        forget_events(app)
        batches = data.draw(arrival(events))
        place = data.draw(st.integers(0, len(batches)))
        ingest(app, batches[:place])
        request_refund(database, 1)
        ingest(app, batches)
        return state(database)

    assert once() == once()


def test_replay_leaves_request(app: Flask, database: Database, audited: Audited, status: Status) -> None:
    feed(app, sent(1), bad(1), sent(2), bad(2))
    request_refund(database, 1)
    before = state(database)
    replay(*audited, actor=TESTER)
    assert state(database) == before
    assert (held(status(1)), held(status(2))) == ((7, 0), (6, 4))


def test_pruning_removes_request_with_its_transfer(
    app: Flask, database: Database, intake: Intake, audited: Audited, status: Status
) -> None:
    old = -60 * 86400
    feed(app, sent(1, at=old), bad(1, old), sent(2, at=old), bad(2, old))
    for n in (1, 2):
        request_refund(database, n, old)
    feed(app, about(1, "refund.completed", at=old + 1))
    assert sum(prune(*audited, intake, NOW - timedelta(days=30), actor=TESTER).transfers.values()) == 1
    assert status(1) is None
    assert held(status(2)) == (7, 0)
    last = seqs(database)
    assert len(last) == 1
    feed(app, sent(3), bad(3))
    request_refund(database, 3)
    prune(*audited, intake, NOW - timedelta(days=30), actor=TESTER)
    assert seqs(database)[-1] > last[-1]


def test_seq_is_never_used_twice(app: Flask, database: Database, intake: Intake, audited: Audited) -> None:
    """Reporters read on behind the last one they know, also when that was pruned."""
    old = -60 * 86400
    feed(app, sent(1, at=old), bad(1, old))
    request_refund(database, 1, old)
    (last,) = seqs(database)
    feed(app, about(1, "refund.completed", at=old + 1))
    prune(*audited, intake, NOW - timedelta(days=30), actor=TESTER)
    assert seqs(database) == []
    feed(app, sent(2), bad(2))
    request_refund(database, 2)
    assert seqs(database)[0] > last


def seqs(database: Database) -> list[int]:
    with reading(database.engine) as connection:
        return list(connection.scalars(select(UserRefundRequest.seq).order_by(UserRefundRequest.seq)))
