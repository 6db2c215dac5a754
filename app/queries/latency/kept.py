"""What is the middle of the latencies of two chains, as it is kept?

One statement, whose cost does not grow with the number of transfers: it reads a row that the feed moves
along, and the few records by which it is corrected to the window of this moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import JSON, BigInteger, Connection, Select, case, cast, null, select, true, tuple_, union_all

from app.domain.keys import ChainId
from app.domain.transfer.kept_middle import KeptMiddle
from app.models.connections.direct import DirectSelect
from app.models.latencies import LatencyMiddle
from app.queries.latency.correction import DST, SRC, correction_to_window, number, total_of

Pair = tuple[ChainId, ChainId]
"""Source and destination."""

_MIDDLES: Final = LatencyMiddle.__table__.alias("m")
_MIDDLE: Final = _MIDDLES.c


def _kept_and_correction() -> Select[*tuple[Any, ...]]:
    """The kept row, and rows of corrections: a latency and how many more there are.

    What is under the latencies that are kept comes as one of them, and so does what is over them.
    """
    correction = correction_to_window()
    kept = select(_MIDDLE.low, _MIDDLE.high, _MIDDLE.below, _MIDDLE.above, _MIDDLE.latencies).where(
        _MIDDLE.src_chain_id == SRC, _MIDDLE.dst_chain_id == DST
    )
    row = kept.cte("kept")
    place = case(
        (correction.c.latency_us < row.c.low, row.c.low - number(1)),
        (correction.c.latency_us > row.c.high, row.c.high + number(1)),
        else_=correction.c.latency_us,
    )
    n = total_of(correction.c.n)
    nothing = cast(null(), BigInteger)
    moved = (
        select(place.label("low"), n, nothing, nothing, cast(null(), JSON))
        .select_from(row.join(correction, true()))
        .group_by(place)
        .having(n != number(0))
    )
    return select(union_all(select(row), moved).subquery())


_KEPT: Final = DirectSelect(_kept_and_correction(), lambda *columns: columns)


def kept_middle(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, after: datetime, until: datetime
) -> Sequence[int] | None:
    """The middle of the sorted latencies, in microseconds, of releases in ``(after, until]``.

    :return: nothing when there are none, one value of an odd count, two of an even one; None where what is
        kept does not tell.
    """
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    kept, correction = None, dict[int, int]()
    for low, high, below, above, latencies in _KEPT.all(connection, bounds):
        if latencies is None:
            correction[low] = high
        else:
            kept = KeptMiddle(low, high, below, above, dict(latencies))
    return None if kept is None else kept.middle(correction)


def kept_middles(connection: Connection, pairs: Iterable[Pair]) -> dict[Pair, KeptMiddle]:
    """What is kept of these pairs, of the latencies that are counted."""
    wanted = tuple_(LatencyMiddle.src_chain_id, LatencyMiddle.dst_chain_id).in_(list(pairs))
    return {
        (row.src_chain_id, row.dst_chain_id): KeptMiddle(
            row.low, row.high, row.below, row.above, dict(row.latencies)
        )
        for row in connection.execute(select(LatencyMiddle.__table__).where(wanted))
    }
