"""How far are the chains read, for operators, callers and whoever asks whether all is well?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, func, select

from app.domain.keys import ChainId
from app.models.watching.readings import WatchSpan, WatchWaiting
from app.models.watching.watches import ChainWatch

_EVERY = select(ChainWatch.__table__).order_by(ChainWatch.chain_id)


def watch_rows(connection: Connection) -> Mapping[ChainId, Row[*tuple[Any, ...]]]:
    """The row of every chain that anybody has ever read."""
    return {ChainId(row.chain_id): row for row in connection.execute(_EVERY)}


def waiting_counts(connection: Connection, chain_id: ChainId) -> Mapping[str, int]:
    """How many facts of the chain wait, by what they wait for."""
    counted = (
        select(WatchWaiting.kind, func.count())
        .where(WatchWaiting.chain_id == chain_id)
        .group_by(WatchWaiting.kind)
    )
    return {kind: count for kind, count in connection.execute(counted)}  # noqa: C416  dict() takes rows for a mapping


def span_count(connection: Connection, chain_id: ChainId) -> int:
    """How many spans are kept of the chain."""
    counted = select(func.count()).select_from(WatchSpan).where(WatchSpan.chain_id == chain_id)
    return connection.scalar(counted) or 0
