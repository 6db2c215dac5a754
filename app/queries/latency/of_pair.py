"""How many transfers between two chains took how long?

The median costs what the latency operation costs (app/queries/latency/middle.py), each percentile a
few milliseconds, whatever the number of transfers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from app.domain.keys import ChainId
from app.queries.latency.middle import latencies_at, middle_latencies, nearest_rank

_NINTH_TENTH: Final = latencies_at(nearest_rank(90))
_NINETY_NINTH: Final = latencies_at(nearest_rank(99))


@dataclass(frozen=True, slots=True)
class LatencyOrder:
    """Order statistics of some latencies, in microseconds.

    ``middle`` is one value of an odd ``count``, two of an even one; a percentile is the least latency that so
    many of a hundred transfers did not exceed (nearest rank).
    """

    count: int
    middle: tuple[int, ...]
    p90: int
    p99: int


def latency_order(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, after: datetime, until: datetime
) -> LatencyOrder | None:
    """Those of the releases in ``(after, until]``, exact; None where there are none.

    Several statements: to be asked where they see the database at one moment.
    """
    middle = middle_latencies(connection, src_chain_id, dst_chain_id, after, until)
    if not middle:
        return None
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    p90 = connection.execute(_NINTH_TENTH, bounds).one()
    p99 = connection.execute(_NINETY_NINTH, bounds).one()
    return LatencyOrder(p90.total, tuple(middle), p90.latency_us, p99.latency_us)


def middle_and_p90(
    connection: Connection, src_chain_id: ChainId, dst_chain_id: ChainId, after: datetime, until: datetime
) -> tuple[Sequence[int], int] | None:
    """The middle and the 90th percentile alone; None where there are none.

    Of two moments where the connection has no transaction: for what does not need to be exact.
    """
    middle = middle_latencies(connection, src_chain_id, dst_chain_id, after, until)
    bounds = {"src": src_chain_id, "dst": dst_chain_id, "after": after, "until": until}
    p90 = connection.execute(_NINTH_TENTH, bounds).first() if middle else None
    return None if p90 is None else (middle, p90.latency_us)
