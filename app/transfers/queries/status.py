"""Reads at which status transfers are, and since when. Counting stops at a bound."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    exists,
    func,
    literal,
    or_,
    select,
    union_all,
)

from app.db.types import RowsOf, at_most, with_values
from app.transfers.models import PrunedTransfer, Refund, StuckAcknowledgement, Transfer
from app.transfers.queries.lists import COLUMNS, ListedTransfer
from app.values.identifiers import BlockNumber, ChainId, TransferId


class TransferRow(NamedTuple):
    """The columns that a status answer is made of. The last four are the refund's evidence, or not there."""

    status: int
    refund_reason: int
    kind: str | None
    src_chain_id: ChainId | None
    dst_chain_id: ChainId | None
    symbol: str | None
    src_tx_hash: str | None
    dst_tx_hash: str | None
    sent_at: datetime | None
    status_since: datetime | None
    settled_block: BlockNumber | None
    wd_onchain: bytes | None = None
    sorted_sigs: Sequence[str] = ()
    signers: Sequence[str] = ()
    powers: Sequence[str] = ()


STATUS_COLUMNS: Final = (
    Transfer.status,
    Transfer.refund_reason,
    Transfer.kind,
    Transfer.src_chain_id,
    Transfer.dst_chain_id,
    Transfer.symbol,
    Transfer.src_tx_hash,
    Transfer.dst_tx_hash,
    Transfer.sent_at,
    Transfer.status_since,
    Transfer.settled_block,
)
EVIDENCE_COLUMNS: Final = (Refund.wd_onchain, Refund.sorted_sigs, Refund.signers, Refund.powers)

WITH_EVIDENCE: Final = select(*STATUS_COLUMNS, *EVIDENCE_COLUMNS).join_from(
    Transfer, Refund, Transfer.transfer_id == Refund.transfer_id, isouter=True
)
_STATUS = WITH_EVIDENCE.where(Transfer.transfer_id == bindparam("transfer_id"))
_STATUSES = RowsOf(WITH_EVIDENCE.add_columns(Transfer.transfer_id), transfer_ids=Transfer.transfer_id)
_PRUNED = select(PrunedTransfer.transfer_id, PrunedTransfer.status).where(
    PrunedTransfer.transfer_id.in_(bindparam("transfer_ids", expanding=True))
)


def transfer_row(connection: Connection, transfer_id: TransferId) -> TransferRow | None:
    row = connection.execute(_STATUS, {"transfer_id": transfer_id}).first()
    return None if row is None else TransferRow(*row)


def transfer_rows(
    connection: Connection, transfer_ids: Sequence[TransferId]
) -> Mapping[TransferId, TransferRow]:
    """The rows of the known ones of these transfers, in one statement: all of one moment."""
    found = _STATUSES(connection, transfer_ids=transfer_ids)
    return {row.transfer_id: TransferRow(*row[:-1]) for row in found}


def pruned_statuses(connection: Connection, transfer_ids: Sequence[TransferId]) -> Mapping[TransferId, int]:
    found = connection.execute(_PRUNED, {"transfer_ids": list(transfer_ids)})
    return {row.transfer_id: row.status for row in found}


COUNTED: Final = 200_000
"""Counting stops here; the console shows more as "at least". 200,000 index entries take about 20 ms."""


def reached_since(connection: Connection, statuses: Sequence[int], since: datetime) -> dict[int, int]:
    """How many transfers came to each status since then and are still there; counted up to ``COUNTED``."""
    counts = []
    for status in statuses:
        came = (Transfer.status == status, Transfer.status_since >= since)
        some = (
            select(literal(1).label("one"))
            .select_from(Transfer)
            .where(*came)
            .limit(at_most(COUNTED))
            .subquery()
        )
        counts.append(
            select(literal(status).label("status"), select(func.count()).select_from(some).label("n"))
        )
    return {row.status: row.n for row in connection.execute(union_all(*counts))}


def count_at_status(connection: Connection, status: int) -> int:
    """How many transfers are at a status; counted up to ``COUNTED``."""
    some = (
        select(literal(1))
        .select_from(Transfer)
        .where(Transfer.status == status)
        .limit(at_most(COUNTED))
        .subquery()
    )
    return connection.scalar(select(func.count()).select_from(some)) or 0


def oldest_at_status(connection: Connection, status: int, size: int) -> Sequence[bytes]:
    oldest = select(Transfer.transfer_id).where(Transfer.status == status)
    return connection.scalars(
        oldest.order_by(Transfer.status_since, Transfer.transfer_id).limit(at_most(size))
    ).all()


Waiting = Row[*tuple[Any, ...]]
"""``src_chain_id``, ``dst_chain_id``, ``status_since``."""


_HOLDS = and_(
    StuckAcknowledgement.transfer_id == Transfer.transfer_id,
    StuckAcknowledgement.status == Transfer.status,
    StuckAcknowledgement.status_since == Transfer.status_since,
)
"""Whether an acknowledgement is of its transfer's present state."""


def acknowledged() -> ColumnElement[bool]:
    return exists().where(_HOLDS).correlate(Transfer)


class Cursor(Struct, frozen=True):
    """A place in the order of ``status_since`` and, among equal times, of ids."""

    at: datetime
    transfer_id: bytes


def oldest_in_state(
    connection: Connection,
    statuses: Sequence[int],
    until: datetime,
    after: Cursor | None,
    size: int,
    *,
    seen_to: bool = False,
    others: Sequence[ColumnElement[bool]] = (),
) -> Sequence[ListedTransfer]:
    """Transfers at these statuses since ``until`` or longer, the longest first.

    :param after: the ``status_since`` and id of the last row of the page before.
    :param seen_to: those that are acknowledged, instead of those that are not.
    :param others: further conditions on ``Transfer``.
    """
    since, transfer_id = Transfer.status_since, Transfer.transfer_id
    conditions = [since <= until, acknowledged() if seen_to else ~acknowledged(), *others]
    if after is not None:
        conditions.append(and_(since >= after.at, or_(since > after.at, transfer_id > after.transfer_id)))
    walks = [
        select(*COLUMNS)
        .where(Transfer.status == status, *conditions)
        .order_by(since, transfer_id)
        .limit(at_most(size))
        .subquery()
        for status in statuses
    ]
    walked = union_all(*(select(walk) for walk in walks)).subquery()
    oldest = select(walked).order_by(walked.c.status_since, walked.c.transfer_id).limit(at_most(size))
    return connection.execute(with_values(oldest)).all()


def count_in_state(
    connection: Connection, statuses: Sequence[int], until: datetime, after: datetime | None = None
) -> int:
    """How many transfers are at these statuses since ``until`` or longer and not acknowledged; up to
    ``COUNTED``.

    :param after: only those that came there later than this.
    """
    since = [Transfer.status_since <= until, *([] if after is None else [Transfer.status_since > after])]
    counts = []
    for status in statuses:
        # Ones and no columns, so that only the index of status and time is read.
        at_status = select(literal(1)).select_from(Transfer).where(Transfer.status == status, *since)
        counts.append(
            select(func.count()).select_from(at_status.limit(at_most(COUNTED)).subquery()).scalar_subquery()
        )
    count = min(sum(connection.execute(select(*counts)).one()), COUNTED)
    if count == COUNTED:
        return count
    # The acknowledged are few, and found by their keys.
    holding = select(func.count()).select_from(StuckAcknowledgement).join(Transfer, _HOLDS)
    return count - (connection.scalar(holding.where(Transfer.status.in_(statuses), *since)) or 0)


def waiting_between(
    connection: Connection, statuses: Sequence[int], after: datetime, until: datetime
) -> Sequence[Waiting]:
    """Chains and times of the transfers that are not acknowledged, since then; up to ``COUNTED``."""
    columns = (Transfer.src_chain_id, Transfer.dst_chain_id, Transfer.status_since)
    walks = [
        select(*columns)
        .where(
            Transfer.status == status,
            Transfer.status_since > after,
            Transfer.status_since <= until,
            ~acknowledged(),
        )
        .limit(at_most(COUNTED))
        .subquery()
        for status in statuses
    ]
    return connection.execute(union_all(*(select(walk) for walk in walks)).limit(at_most(COUNTED))).all()


def acknowledgements_of(connection: Connection, transfer_ids: Collection[bytes]) -> list[Waiting]:
    """The acknowledgements of these transfers that still hold."""
    table = StuckAcknowledgement
    query = (
        select(table.transfer_id, table.note, table.at, table.by)
        .join(Transfer, _HOLDS)
        .where(table.transfer_id.in_(transfer_ids))
    )
    return list(connection.execute(query))


def status_of(connection: Connection, transfer_id: TransferId) -> int | None:
    return connection.scalar(select(Transfer.status).where(Transfer.transfer_id == transfer_id))
