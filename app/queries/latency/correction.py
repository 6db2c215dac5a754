"""How are kept counts of latencies corrected to the window of this moment?

Counts cover the records released after some moment. The records between that moment and the start of the
window, and any of the future, are added or subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    select,
    true,
    union_all,
)

from app.models.latencies import LatencyWindow
from app.models.transfers import LatencyRecord
from app.models.types import UtcTime

SRC = bindparam("src", type_=BigInteger)
DST = bindparam("dst", type_=BigInteger)
AFTER = bindparam("after", type_=UtcTime)
UNTIL = bindparam("until", type_=UtcTime)
_NEVER = bindparam("never", datetime.max.replace(tzinfo=UTC), type_=UtcTime)

# Short names: the driver parses a statement of more than 4,096 characters anew each time.
RECORDS = LatencyRecord.__table__.alias("r")
RECORD = RECORDS.c
RECORDS_OF_PAIR = (RECORD.src_chain_id == SRC, RECORD.dst_chain_id == DST)


def number(value: int) -> ColumnElement[int]:
    """A number written into the statement. As a parameter it would keep the planner from using the index."""
    return literal_column(str(value), BigInteger)


def shifted(value: ColumnElement[int], bits: int) -> ColumnElement[int]:
    """The value without its lowest bits, as an index has it."""
    return value.bitwise_rshift(number(bits))


def _one_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, number(1)), else_=number(0))


def total_of(numbers: ColumnElement[int], over: dict[str, Any] | None = None) -> ColumnElement[int]:
    """A sum, over a window if one is given. PostgreSQL makes it a NUMERIC, which is slow to go on with."""
    total = func.sum(numbers)
    return cast(total if over is None else total.over(**over), BigInteger)


def correction_to_window(records: Sequence[ColumnElement[bool]] = RECORDS_OF_PAIR) -> CTE:
    """Corrections of the counts to the window: 1 more or 1 less for a latency, which often add up to 0.

    Where nothing is counted, it is the whole window.

    :param records: which records are looked at: those of one pair, or with no condition those of all.
    """
    columns = (RECORD.src_chain_id, RECORD.dst_chain_id, RECORD.latency_us)
    since = func.coalesce(select(LatencyWindow.since).scalar_subquery(), _NEVER, type_=UtcTime)
    counted = select(since.label("since")).cte("counted").c.since
    behind = counted < AFTER
    span = select(
        counted,
        case((behind, counted), else_=AFTER).label("low"),
        case((behind, AFTER), else_=counted).label("high"),
    ).cte("span")
    released = RECORD.released_at
    in_window = _one_if((released > AFTER) & (released <= UNTIL))
    between = (
        select(*columns, (in_window - _one_if(released > span.c.since)).label("n"))
        .select_from(span.join(RECORDS, true()))
        .where(*records, released > span.c.low, released <= span.c.high)
    )
    # Of two lower bounds SQLite would take the first, so that the span's end is no condition here.
    high = select(span.c.high).scalar_subquery()
    future = select(*columns, (-_one_if(released > high)).label("n")).where(*records, released > UNTIL)
    return union_all(between, future).cte("correction")
