"""What is the middle of the latencies of two chains, as it is kept?

One statement, whose cost does not grow with the number of transfers: it reads a row that the feed moves
along, and the few records by which it is corrected to the window of this moment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    cast,
    exists,
    null,
    select,
    tuple_,
    union_all,
)

from app.domain.keys import ChainId
from app.domain.transfer.kept_middle import KeptMiddle
from app.models.connections.direct import DirectSelect
from app.models.latencies import MIDDLES_ARE_RIGHT, LatencyMiddle, LatencyWindow
from app.queries.latency.correction import DST, RECORDS_OF_PAIR, SRC, correction_to_window, number, total_of

Pair = tuple[ChainId, ChainId]
"""Source and destination."""

_MIDDLES: Final = LatencyMiddle.__table__.alias("m")
_MIDDLE: Final = _MIDDLES.c
_RIGHT: Final = exists(select(LatencyWindow.id).where(MIDDLES_ARE_RIGHT))
"""None is read while an earlier release has changed records beside this one."""


def _kept_and_correction(
    kept: Sequence[ColumnElement[bool]] = (), records: Sequence[ColumnElement[bool]] = ()
) -> Select[*tuple[Any, ...]]:
    """Rows that are kept, and rows of corrections: two chains, a latency and how many more there are.

    What is under the latencies that are kept comes as one of them, and so does what is over them.

    :param kept: which rows are wanted.
    :param records: of which records corrections are wanted.
    """
    correction = correction_to_window(records)
    pair = (_MIDDLE.src_chain_id, _MIDDLE.dst_chain_id)
    row = select(*pair, _MIDDLE.low, _MIDDLE.high, _MIDDLE.below, _MIDDLE.above, _MIDDLE.latencies)
    rows = row.where(*kept, _RIGHT).cte("kept")
    place = case(
        (correction.c.latency_us < rows.c.low, rows.c.low - number(1)),
        (correction.c.latency_us > rows.c.high, rows.c.high + number(1)),
        else_=correction.c.latency_us,
    )
    same = and_(
        correction.c.src_chain_id == rows.c.src_chain_id, correction.c.dst_chain_id == rows.c.dst_chain_id
    )
    n = total_of(correction.c.n)
    nothing = cast(null(), BigInteger)
    moved = (
        select(rows.c.src_chain_id, rows.c.dst_chain_id, place, n, nothing, nothing, cast(null(), JSON))
        .select_from(rows.join(correction, same))
        .group_by(rows.c.src_chain_id, rows.c.dst_chain_id, place)
        .having(n != number(0))
    )
    return select(union_all(select(rows), moved).subquery())


_OF_PAIR: Final = (_MIDDLE.src_chain_id == SRC, _MIDDLE.dst_chain_id == DST)
_KEPT: Final = DirectSelect(_kept_and_correction(_OF_PAIR, RECORDS_OF_PAIR), lambda *columns: columns)
_ALL_KEPT: Final = _kept_and_correction()


def kept_middle(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, after: datetime, until: datetime
) -> Sequence[int] | None:
    """The middle of the sorted latencies, in microseconds, of releases in ``(after, until]``.

    :return: nothing when there are none, one value of an odd count, two of an even one; None where what is
        kept does not tell.
    """
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    return _corrected(_KEPT.all(connection, bounds)).get((src_chain_id, dst_chain_id))


def all_kept_middles(connection: Connection, after: datetime, until: datetime) -> dict[Pair, Sequence[int]]:
    """The same of every pair of which what is kept tells it."""
    return _corrected(connection.execute(_ALL_KEPT, {"after": after, "until": until}))


def _corrected(rows: Iterable[Sequence[Any]]) -> dict[Pair, Sequence[int]]:
    kept, corrections = dict[Pair, KeptMiddle](), defaultdict[Pair, dict[int, int]](dict)
    for src, dst, low, high, below, above, latencies in rows:
        if latencies is None:
            corrections[src, dst][low] = high
        else:
            kept[src, dst] = KeptMiddle(low, high, below, above, dict(latencies))
    middles = {pair: middle.middle(corrections[pair]) for pair, middle in kept.items()}
    return {pair: middle for pair, middle in middles.items() if middle is not None}


def kept_middles(connection: Connection, pairs: Iterable[Pair]) -> dict[Pair, KeptMiddle]:
    """What is kept of these pairs, of the latencies that are counted."""
    wanted = tuple_(LatencyMiddle.src_chain_id, LatencyMiddle.dst_chain_id).in_(list(pairs))
    return {
        (row.src_chain_id, row.dst_chain_id): KeptMiddle(
            row.low, row.high, row.below, row.above, dict(row.latencies)
        )
        for row in connection.execute(select(LatencyMiddle.__table__).where(wanted))
    }
