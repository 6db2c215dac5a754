"""The public operations of refunds: request one, explain the evidence of one."""

from __future__ import annotations

from typing import Any

from app.db.database import Database
from app.http.application import current
from app.http.limits import RefundRequestLimit
from app.http.requests import caller
from app.network.snapshot import SnapshotSource
from app.refunds.rules.explanation import RefundExplanation
from app.refunds.services import refund_evidence, request_refund


def get_refund_evidence(requested: dict[str, Any]) -> RefundExplanation:
    return refund_evidence(current(Database), current(SnapshotSource), requested["transfer_id"])


def withdraw_liquidity(requested: dict[str, Any]) -> int:
    """The answer is the number of the request."""
    return request_refund(
        current(Database),
        current(SnapshotSource),
        current(RefundRequestLimit),
        requested["withdraw_req"],
        caller(),
    )
