"""Makes every projection agree with the log again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlalchemy import Connection

from app.audit.keys import AuditKeys
from app.audit.queries import newest_of_action
from app.audit.records import Actor
from app.audit.services import record, record_separately
from app.db.base import Base
from app.db.database import Database
from app.db.engine import reading_consistently, writing
from app.estimates.models import PoolCounter, PoolVolume, ReportedFee
from app.feed.models import TransferBlock
from app.feed.projection.transfers import publish_nothing
from app.feed.services.ahead import settle
from app.feed.services.log import refuse_grown
from app.feed.verifying.mismatches import Difference, Part
from app.feed.verifying.run import every_part
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

PROJECTIONS: tuple[type[Base], ...] = (
    LatencyRecord, Refund, RefundBasis, WithdrawId, TransferAccount, TransferBlock, TransferHash, Transfer,
    PoolCounter, PoolVolume, TrendCount, ReportedFee, ReportedValidatorSet, WithdrawDone, ChainProgress,
    RetractedEvent, RetractionTarget, SignatureNotNeeded,
)  # fmt: skip
"""Tables that follow from the log, in an order in which rows can be deleted."""

SUMS_AT_ONCE: Final = 2_000
"""Rows of sums in one transaction: a pool has one for each minute of years, which all may be missing."""

_ACTION = "events.replay"
_SUBJECT = "event log"
_STARTED = "started"


class AnotherReplay(RuntimeError):
    """Another replay began meanwhile: this one must not add what the other one may have added."""


def replay(
    database: Database,
    audit_keys: AuditKeys,
    progress: Callable[[int], None] = lambda _transfers: None,
    *,
    actor: Actor,
    found: Callable[[Difference], None] = lambda _difference: None,
) -> int:
    """Compare every projection with the log, part by part, and write again what differs.

    Each part that differs is a transaction of its own; between them, and while parts are compared, the feed
    and the answers go on. An interrupted replay leaves parts that agree and parts that do not yet, as
    before, and is simply started again. Where everything agrees nothing is written.

    Anomalies that hold again stay acknowledged. Those that came from a refused line stay: the log has no
    trace of them.

    :param progress: called after each chunk of transfers with their number.
    :param found: called with each row that differed, once it is repaired.
    :returns: how many transfers there are.
    :raises NoEventLog: the transfers have no events.
    :raises AnotherReplay: another one began.
    """
    began = _begin(database, audit_keys, actor)
    count = repaired = 0
    for part in every_part(database):
        differences = _repaired(database, part, began)
        for difference in differences:
            found(difference)
        repaired += len(differences)
        if part.transfers:
            count += part.transfers
            progress(part.transfers)
    detail = f"compared {count} transfers with the log, {repaired} rows differed and were repaired"
    record_separately(database, audit_keys, actor, _ACTION, _SUBJECT, detail=detail)
    return count


def _begin(database: Database, audit_keys: AuditKeys, actor: Actor) -> int:
    """Record in the audit log that a replay begins. Returns the id of the record.

    :raises NoEventLog: the transfers have no events.
    """
    with writing(database.engine) as connection:
        refuse_grown(connection)
        settle(connection, database.clock())
        return record(connection, audit_keys, actor, _ACTION, _SUBJECT, now=database.clock(), detail=_STARTED)


def _repaired(database: Database, part: Part, began: int) -> list[Difference]:
    """Compare a part with the log, and repair it where it differs. Returns the differences."""
    with reading_consistently(database.engine) as connection:
        differences = part.compare(connection)
    return _repair(database, part, differences, began) if differences else differences


def _repair(database: Database, part: Part, differences: list[Difference], began: int) -> list[Difference]:
    """Repair what differs of a part. Returns the differences found while nothing else was written."""
    if part.by_difference:
        _add(database, part, differences, began)
        return differences
    with writing(database.engine) as connection:
        publish_nothing(connection)
        differences = part.compare(connection)
        if differences:
            part.repair(connection, differences, database.clock())
        return differences


def _add(database: Database, part: Part, differences: Sequence[Difference], began: int) -> None:
    """Add the differences of sums, some of them in each transaction."""
    for start in range(0, len(differences), SUMS_AT_ONCE):
        with writing(database.engine) as connection:
            publish_nothing(connection)
            _refuse_another(connection, began)
            part.repair(connection, differences[start : start + SUMS_AT_ONCE], database.clock())


def _refuse_another(connection: Connection, began: int) -> None:
    if newest_of_action(connection, _ACTION, _STARTED) != began:
        raise AnotherReplay("another replay began meanwhile, and this one ends: let that one come to its end")
