"""Which configuration is in force, and what its pools hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.db.engine import ask
from app.domain.keys import PoolKey
from app.domain.pools import PoolCounters
from app.queries.estimates import pool_counters
from app.runtime.gateway import Gateway
from app.services.network.sections import Part


@dataclass(frozen=True, slots=True)
class PoolLevel:
    """In tokens, as floating-point numbers: for graphs and nothing else. ``cap``: None without one."""

    liquidity: float
    cap: float | None


def config_version(gateway: Gateway) -> int:
    """The version of the network's configuration; 0 before anything was configured.

    :raises Unavailable: the configuration cannot be read.
    """
    version = gateway.snapshots.current().versions.get(Part.CORE.value)
    return 0 if version is None else version.version


def pool_levels(gateway: Gateway) -> Mapping[PoolKey, PoolLevel]:
    """What each configured pool holds, and its total cap.

    :raises Unavailable: the configuration cannot be read.
    """
    terms = gateway.snapshots.current().terms
    moved = ask(gateway.reads, pool_counters)
    levels = {}
    for key, opening in terms.pools.items():
        pool, unit = opening.moved_by(moved.get(key, PoolCounters())), 10 ** terms.tokens[key].decimals
        levels[key] = PoolLevel(
            pool.counters.balance / unit, None if pool.total_cap is None else pool.total_cap / unit
        )
    return levels
