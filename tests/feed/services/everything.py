"""All that follows from the log, in a comparable form."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete

from app.db.database import Database
from app.db.engine import reading, writing
from app.db.models import Base
from app.estimates.models import PoolCounter, PoolVolume, ReportedFee
from app.feed.models import TransferBlock
from app.latency.models import LatencyRecord
from app.network.models import ReportedValidatorSet
from app.refunds.models import SignatureNotNeeded, WithdrawDone, WithdrawId
from app.transfers.models import (
    ChainProgress,
    Refund,
    RefundBasis,
    RetractedEvent,
    RetractionTarget,
    Transfer,
    TransferAccount,
    TransferHash,
    TrendCount,
)
from app.values.codes import TransferHistoryStatus as Status
from tests.feed.services.world import projections, rows_of

PROJECTIONS: tuple[type[Base], ...] = (
    LatencyRecord, Refund, RefundBasis, WithdrawId, TransferAccount, TransferBlock, TransferHash, Transfer,
    PoolCounter, PoolVolume, TrendCount, ReportedFee, ReportedValidatorSet, WithdrawDone, ChainProgress,
    RetractedEvent, RetractionTarget, SignatureNotNeeded,
)  # fmt: skip
"""Tables that follow from the log, in an order in which rows can be deleted."""

OPEN = (Status.TRANSFER_REQUESTING_REFUND, Status.TRANSFER_REFUND_TO_BE_CONFIRMED)
"""Statuses while which new validators change a refund."""


def forget_projections(database: Database) -> None:
    """As if the log were all that is left."""
    with writing(database.engine) as connection:
        for model in PROJECTIONS:
            connection.execute(delete(model))


def everything(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Every projection in a comparable form."""
    with reading(database.engine) as connection:
        found = projections(connection)
        for model in PROJECTIONS:
            if model.__tablename__ not in found:
                found[model.__tablename__] = rows_of(connection, model)
    # Which signatures need not be projected follows from the network of that time, after a replay from that
    # of today. Either way nothing is left out that an answer needs, or another table would differ.
    del found["signatures_not_needed"]
    # Of a pool under zero no event has the time: it is that of the clock, which goes on.
    found["anomalies"] = [row if row[3] != "[]" else row[:5] for row in found["anomalies"]]
    # The basis of a refund is read while the refund is open: only then new validators change it.
    closed = {row[0] for row in found["transfers"] if row[1] not in OPEN}
    found["refund_basis"] = [row for row in found["refund_basis"] if row[0] not in closed]
    return found
