"""A user's refund request moves a transfer from 6 to 7 and nothing else, whenever it comes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.projection.transfers import project_again
from app.feed.services.ingest import Intake
from app.feed.services.prune import prune
from app.network.queries import load_network_facts
from app.refunds.models import UserRefundRequest
from app.values.codes import TransferHistoryStatus as Status
from app.values.codes import XferStatus
from tests.actors import TESTER
from tests.applications import Audited
from tests.feed.services.world import (
    NOW,
    about,
    event,
    feed,
    id_of,
    prepared,
    released,
    request,
    sent,
)

StatusOf = Callable[[int], Any]

NO_REASON = XferStatus.UNKNOWN


def request_refund(database: Database, n: int, at: float = -20) -> None:
    """The request as the service stores it, at any status."""
    key = id_of(n)
    with writing(database.engine) as connection:
        connection.execute(insert(UserRefundRequest), {"transfer_id": key, "at": NOW + timedelta(seconds=at)})
        project_again(connection, [key], load_network_facts(connection), NOW)


def network_status(n: int, value: XferStatus, at: float = -50) -> dict[str, Any]:
    return about(n, "network.status", at=at, xfer_status=int(value))


def bad_slippage(n: int, at: float = -50) -> dict[str, Any]:
    return network_status(n, XferStatus.BAD_SLIPPAGE, at)


def status_and_reason(row: Any) -> tuple[int, int]:
    return row.status, row.refund_reason


def test_request_counts_while_status_is_6(app: Flask, database: Database, status: StatusOf) -> None:
    feed(app, sent(1), bad_slippage(1))
    request_refund(database, 1)
    assert status_and_reason(status(1)) == (Status.TRANSFER_REQUESTING_REFUND, NO_REASON)
    assert status(1).status_since == NOW - timedelta(seconds=20)
    assert status(1).updated_at == NOW - timedelta(seconds=20)


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ([network_status(1, XferStatus.SUCCESS, -10)], Status.TRANSFER_WAITING_FOR_FUND_RELEASE),
        ([network_status(1, XferStatus.OK_TO_RELAY, -10)], Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION),
        ([network_status(1, XferStatus.REFUND_REQUESTED, -10)], Status.TRANSFER_REQUESTING_REFUND),
        ([released(1)], Status.TRANSFER_COMPLETED),
        ([about(1, "transfer.delayed")], Status.TRANSFER_DELAYED),
        ([about(1, "refund.submitted", tx_hash="0x" + "44" * 32)], Status.TRANSFER_CONFIRMING_YOUR_REFUND),
        ([about(1, "refund.completed")], Status.TRANSFER_REFUNDED),
        ([network_status(1, XferStatus.BAD_TOKEN, -5)], Status.TRANSFER_REQUESTING_REFUND),
        (
            [network_status(1, XferStatus.SUCCESS, -10), bad_slippage(1, -5)],
            Status.TRANSFER_REQUESTING_REFUND,
        ),
        ([prepared(1, request(1))], Status.TRANSFER_REQUESTING_REFUND),
        ([event("chain.reorged", chain_id=1, from_block=1)], Status.TRANSFER_REQUESTING_REFUND),
    ],
)
def test_request_masks_no_later_status(
    app: Flask, database: Database, status: StatusOf, later: list[dict[str, Any]], expected: Status
) -> None:
    feed(app, sent(1), bad_slippage(1))
    request_refund(database, 1)
    feed(app, *later)
    assert status_and_reason(status(1)) == (expected, NO_REASON)


@pytest.mark.every_database
@pytest.mark.parametrize("retained", [[], [2]], ids=["last is pruned", "last is retained"])
def test_request_numbers_are_not_reused_after_pruning(
    app: Flask, database: Database, intake: Intake, audited: Audited, retained: list[int]
) -> None:
    """Reporters read on behind the last one they know, also when that was pruned."""
    old = -60 * 86400
    for n in (1, *retained):
        feed(app, sent(n, at=old), bad_slippage(n, old))
        request_refund(database, n, old)
    first, *others = request_numbers(database)
    feed(app, about(1, "refund.completed", at=old + 1))
    prune(*audited, intake, NOW - timedelta(days=30), actor=TESTER)
    assert request_numbers(database) == others
    feed(app, sent(3), bad_slippage(3))
    request_refund(database, 3)
    assert request_numbers(database)[-1] > max([first, *others])


def request_numbers(database: Database) -> list[int]:
    with reading(database.engine) as connection:
        return list(connection.scalars(select(UserRefundRequest.seq).order_by(UserRefundRequest.seq)))
