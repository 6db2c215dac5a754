"""Which base fees has the feed reported?"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select

from app.domain.keys import ChainId, RouteKey
from app.models.pools import ReportedFee


def reported_fees(connection: Connection) -> dict[RouteKey, tuple[int, datetime]]:
    """The latest standing fee of every route that has one, in destination units, and its time."""
    rows = connection.execute(
        select(
            ReportedFee.symbol,
            ReportedFee.src_chain_id,
            ReportedFee.dst_chain_id,
            ReportedFee.base_fee,
            ReportedFee.at,
        )
    )
    return {RouteKey(symbol, ChainId(src), ChainId(dst)): (fee, at) for symbol, src, dst, fee, at in rows}
