"""Which base fees has the feed reported?"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

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


def reported_fee(connection: Connection, route_key: RouteKey) -> Row[*tuple[Any, ...]] | None:
    """``base_fee`` and ``at`` of the route's latest standing fee; None where none was reported."""
    symbol, src_chain_id, dst_chain_id = route_key
    return connection.execute(
        select(ReportedFee.base_fee, ReportedFee.at).where(
            ReportedFee.symbol == symbol,
            ReportedFee.src_chain_id == src_chain_id,
            ReportedFee.dst_chain_id == dst_chain_id,
        )
    ).one_or_none()
