"""Counts how long it takes until refunds become claimable, by stage, for a histogram of all gateways."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, select

from app.db.upserts import add_up
from app.refunds.models import EvidenceCount
from app.transfers.events import RefundPrepared
from app.transfers.reported import TransferHistory
from app.transfers.state import TransferState

EVIDENCE_BOUNDS: Final = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 21_600, 86_400, 604_800)
"""Seconds. A refund that took longer than the last was reported again, or is read from years ago: it is not
counted."""

EVIDENCE_STAGES: Final = ("signatures", "gateway", "whole")


def count_evidence(
    connection: Connection, claimable: Iterable[tuple[TransferHistory, TransferState]], now: datetime
) -> None:
    """Count how long it took until refunds became claimable, by stage.

    ``signatures`` is from the request that is served to its quorum, by the times of their events. ``gateway``
    is from there to now: what the watcher, confirmations, reporters and the projection take. ``whole`` is
    both.

    :param claimable: those that this transaction brings to status 8.
    :param now: when the gateway learned of it.
    """
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for history, state in claimable:
        requested, quorum = _requested_at(history, state), state.status_since
        if requested is None or quorum is None:
            continue
        if (now - requested).total_seconds() > EVIDENCE_BOUNDS[-1]:
            continue
        took_by_stage = (quorum - requested, now - quorum, now - requested)
        for stage, took in zip(EVIDENCE_STAGES, took_by_stage, strict=True):
            seconds = max(0.0, took.total_seconds())
            up_to = EVIDENCE_BOUNDS[bisect_left(EVIDENCE_BOUNDS, seconds)]
            row = rows.setdefault((stage, up_to), {"stage": stage, "up_to": up_to, "n": 0, "milliseconds": 0})
            row["n"] += 1
            row["milliseconds"] += round(seconds * 1_000)
    add_up(connection, EvidenceCount, list(rows.values()))


def _requested_at(history: TransferHistory, state: TransferState) -> datetime | None:
    """The time of the request that is served."""
    served = None if state.evidence is None else state.evidence.wd_onchain
    events = (logged.event for logged in history.log)
    return min(
        (each.at for each in events if isinstance(each, RefundPrepared) and each.wd_onchain == served),
        default=None,
    )


def evidence_counts(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    """How long it took until refunds became claimable: every column of every count."""
    return connection.execute(select(EvidenceCount.__table__).order_by(EvidenceCount.up_to)).all()
