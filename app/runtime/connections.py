"""How the connections to the databases of this process are used at this moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Engine

from app.db.pool import FairPool
from app.runtime.gateway import Gateway


@dataclass(frozen=True, slots=True)
class Connections:
    """Of one pool. ``refused``: how many got no connection in time, since the pool was made."""

    in_use: int
    idle: int
    waiting: int
    refused: int


def connections_of(gateway: Gateway) -> Mapping[str, Connections]:
    """The pools by what they are for: ``reads``, ``feed``, ``console`` and, with a replica, ``replica``."""
    replica = gateway.public_reads.replica
    engines = {"reads": gateway.reads, "feed": gateway.feed, "console": gateway.engine}
    if replica is not None:
        engines["replica"] = replica.engine
    return {name: found for name, engine in engines.items() if (found := _of(engine)) is not None}


def _of(engine: Engine) -> Connections | None:
    pool = engine.pool
    if not isinstance(pool, FairPool):
        return None
    return Connections(pool.checkedout(), pool.checkedin(), pool.tickets.waiting, pool.tickets.refused)
