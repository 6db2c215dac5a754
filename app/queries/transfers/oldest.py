"""Which transfers have been in their state for the longest time, and how many of them are there?

Transfers that somebody has acknowledged in the state they are in are told from the others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, exists, func, literal, or_, select, union_all

from app.models.anomalies import StuckAcknowledgement
from app.models.transfers import Transfer
from app.queries.transfers.bounds import at_most
from app.queries.transfers.by_status import COUNTED
from app.queries.transfers.listing import COLUMNS, Cursor, ListedTransfer

Waiting = Row[*tuple[Any, ...]]
"""``src_chain_id``, ``dst_chain_id``, ``status_since``."""


_HOLDS = and_(
    StuckAcknowledgement.transfer_id == Transfer.transfer_id,
    StuckAcknowledgement.status == Transfer.status,
    StuckAcknowledgement.status_since == Transfer.status_since,
)
"""Whether an acknowledgement is of the state that its transfer is in."""


def acknowledged() -> ColumnElement[bool]:
    """Whether somebody has acknowledged the transfer in the state that it is in."""
    return exists().where(_HOLDS).correlate(Transfer)


def oldest_in_state(
    connection: Connection,
    statuses: Sequence[int],
    until: datetime,
    after: Cursor | None,
    size: int,
    *,
    seen_to: bool = False,
) -> Sequence[ListedTransfer]:
    """Transfers at these statuses since ``until`` or longer, the longest first.

    :param after: the ``status_since`` and id of the last row of the page before.
    :param seen_to: those that are acknowledged, instead of those that are not.
    """
    since, transfer_id = Transfer.status_since, Transfer.transfer_id
    conditions = [since <= until, acknowledged() if seen_to else ~acknowledged()]
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
    return connection.execute(oldest).all()


def count_in_state(
    connection: Connection, statuses: Sequence[int], until: datetime, after: datetime | None = None
) -> int:
    """How many nobody has acknowledged, at these statuses since ``until`` or longer; up to ``COUNTED``.

    :param after: those that came there later than this alone.
    """
    since = [Transfer.status_since <= until, *([] if after is None else [Transfer.status_since > after])]
    counts = []
    for status in statuses:
        # Ones and no columns: then the index of status and time answers alone.
        at_status = select(literal(1)).select_from(Transfer).where(Transfer.status == status, *since)
        counts.append(
            select(func.count()).select_from(at_status.limit(at_most(COUNTED)).subquery()).scalar_subquery()
        )
    count = min(sum(connection.execute(select(*counts)).one()), COUNTED)
    if count == COUNTED:
        return count
    # The acknowledged are few, and found by their keys.
    seen_to = select(func.count()).select_from(StuckAcknowledgement).join(Transfer, _HOLDS)
    return count - (connection.scalar(seen_to.where(Transfer.status.in_(statuses), *since)) or 0)


def waiting_between(
    connection: Connection, statuses: Sequence[int], after: datetime, until: datetime
) -> Sequence[Waiting]:
    """Chains and times of those that nobody has acknowledged, since then; up to ``COUNTED``."""
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
