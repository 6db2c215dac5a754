"""How many transfers are stuck, without looking at each of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from app.db.engine import reading
from app.domain.transfer.stuck import STATUSES, MustAct, Thresholds
from app.queries.transfers.status import COUNTED, count_in_state, waiting_between
from app.runtime.gateway import Gateway

NEW_FOR: Final = timedelta(days=1)
"""How long after it became stuck a transfer is called new."""


def count_stuck(gateway: Gateway, who: MustAct, thresholds: Thresholds) -> tuple[int, int | None]:
    """How many are stuck and not acknowledged, and how many of them became so within ``NEW_FOR``.

    The first is exact while it is under ``COUNTED``; the second is None where it is not.
    """
    statuses, now = [int(status) for status in STATUSES[who]], gateway.clock()
    surely, surely_before = (_surely_stuck(thresholds, at) for at in (now, now - NEW_FOR))
    with reading(gateway.reads) as connection:
        number = count_in_state(connection, statuses, surely)
        if number == COUNTED:
            return number, None
        lately = count_in_state(connection, statuses, surely, after=surely_before)
        undecided = _stuck_by_pair(connection, statuses, thresholds, now)
        before = _stuck_by_pair(connection, statuses, thresholds, now - NEW_FOR)
    return min(number + undecided, COUNTED), lately + undecided - before


def _surely_stuck(thresholds: Thresholds, at: datetime) -> datetime:
    """Whatever is in its state since this time or longer was stuck at that one, whichever its chains.

    A transfer is stuck when it lasts longer than it may, not as long.
    """
    return at - thresholds.longest - timedelta(microseconds=1)


def _stuck_by_pair(
    connection: Connection, statuses: Sequence[int], thresholds: Thresholds, at: datetime
) -> int:
    """How many of the others were stuck at that time: where the pair of chains decides."""
    rows = waiting_between(connection, statuses, _surely_stuck(thresholds, at), at - thresholds.least)
    return sum(at - row.status_since > thresholds.allowed(row.src_chain_id, row.dst_chain_id) for row in rows)
