"""Which transfers have been in their state for the longest time?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, and_, or_, select, union_all

from app.models.transfers import Transfer
from app.queries.transfers.listing import COLUMNS, Cursor, ListedTransfer


def oldest_in_state(
    connection: Connection,
    statuses: Sequence[int],
    until: datetime,
    after: Cursor | None,
    size: int,
) -> Sequence[ListedTransfer]:
    """Transfers at these statuses since ``until`` or longer, the longest first.

    :param after: the ``status_since`` and id of the last row of the page before.
    """
    since, transfer_id = Transfer.status_since, Transfer.transfer_id
    conditions = [since <= until]
    if after is not None:
        conditions.append(and_(since >= after.at, or_(since > after.at, transfer_id > after.transfer_id)))
    walks = [
        select(*COLUMNS)
        .where(Transfer.status == status, *conditions)
        .order_by(since, transfer_id)
        .limit(size)
        .subquery()
        for status in statuses
    ]
    walked = union_all(*(select(walk) for walk in walks)).subquery()
    oldest = select(walked).order_by(walked.c.status_since, walked.c.transfer_id).limit(size)
    return connection.execute(oldest).all()
