"""The pools: balances, limits, and how much of each cap is used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from app.admin.pages.components import AmountText, ChainName, amount_of, chain_name
from app.admin.pages.trends.pool_outlook import PACE_HOURS, PoolWarning, Severity, pool_warnings
from app.db.engine import reading
from app.domain.amounts import PPM
from app.domain.estimate.inputs import PoolState
from app.domain.estimate.network_terms import NetworkTerms
from app.domain.keys import PoolKey, RouteKey
from app.domain.pools import PoolCounters
from app.domain.times import Epoch, hour_of
from app.queries.estimates import estimate_facts, pool_counters
from app.queries.transfers.trends import pool_flows
from app.runtime.gateway import Gateway


@dataclass(frozen=True, slots=True)
class CapUse:
    """How much of a cap is used. ``ppm`` is that share in millionths, rounded down; over 1000000: over it."""

    used: AmountText
    cap: AmountText
    ppm: int


@dataclass(frozen=True, slots=True)
class PoolLine:
    """One pool now, in its token's units.

    ``under_zero``: events are missing or the opening values are wrong; estimates count 0 instead.
    ``total`` and ``epoch`` are None without such a cap; the epoch's volume starts again at ``epoch_ends``.
    """

    chain: ChainName
    symbol: str
    balance: AmountText
    inbound_limit: AmountText
    under_zero: bool
    total: CapUse | None
    epoch: CapUse | None
    epoch_ends: datetime | None
    warnings: tuple[PoolWarning, ...] = ()

    @property
    def fullest_ppm(self) -> int:
        """The larger share of the two caps; 0 without any."""
        return max((use.ppm for use in (self.total, self.epoch) if use is not None), default=0)

    @property
    def order(self) -> tuple[bool, bool, bool, int]:
        """Under zero first, then those with warnings, the reached ones first, then the fullest."""
        reached = any(warning.severity is Severity.REACHED for warning in self.warnings)
        return not self.under_zero, not reached, not self.warnings, -self.fullest_ppm


def pool_lines(gateway: Gateway) -> tuple[PoolLine, ...]:
    """Every configured pool, those under zero first, then those to be warned of, then the fullest.

    :raises Unavailable: the configuration cannot be read.
    """
    terms, now = gateway.snapshots.current().terms, gateway.clock()
    with reading(gateway.reads) as connection:
        moved, flows = pool_counters(connection), pool_flows(connection, hour_of(now) - PACE_HOURS)
        lines = []
        for key, opening in terms.pools.items():
            pool, epoch = _in_its_epoch(
                connection, key, opening.moved_by(moved.get(key, PoolCounters())), now
            )
            lines.append(_line(terms, key, pool, epoch, flows.get(key, (0, 0))))
    return tuple(sorted(lines, key=lambda line: (*line.order, line.chain.name, line.symbol)))


def _in_its_epoch(
    connection: Connection, key: PoolKey, pool: PoolState, now: datetime
) -> tuple[PoolState, Epoch | None]:
    """The pool with the volume of its epoch, and that; None where no epoch caps it."""
    if pool.epoch_cap is None or not pool.epoch_seconds:
        return pool, None
    epoch = Epoch.at(now, pool.epoch_seconds)
    facts = estimate_facts(connection, RouteKey(key.symbol, key.chain_id, key.chain_id), epoch)
    return replace(pool, epoch_volume=facts.epoch_volume), epoch


def _line(
    terms: NetworkTerms, key: PoolKey, pool: PoolState, epoch: Epoch | None, flow: tuple[int, int]
) -> PoolLine:
    chain_id, symbol = key

    def amount(units: int) -> AmountText:
        return amount_of(terms, chain_id, symbol, units) or AmountText(units, symbol)

    def use(used: int, cap: int) -> CapUse:
        return CapUse(amount(used), amount(cap), used * PPM // cap if cap else PPM)

    in_epoch = epoch is not None and pool.epoch_cap is not None
    return PoolLine(
        chain=chain_name(terms.chain_infos, chain_id),
        symbol=symbol,
        balance=amount(pool.balance),
        inbound_limit=amount(pool.inbound_limit),
        under_zero=pool.counters.inbound_limit < 0 or pool.counters.balance < 0,
        total=None if pool.total_cap is None else use(pool.balance, pool.total_cap),
        epoch=use(pool.epoch_volume, pool.epoch_cap or 0) if in_epoch else None,
        epoch_ends=None if epoch is None else epoch.ends_at,
        warnings=pool_warnings(pool, *flow),
    )
