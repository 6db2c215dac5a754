"""Pools: balances, limits, how much of each cap is used, and which will soon be at a limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.console.network.editing import NetworkView, SideTable
from app.console.network.names import ChainIs, SymbolIs, amount_cell
from app.console.shell.formats import grouped
from app.console.shell.lists import Present
from app.console.shell.views import read
from app.console.transfers.components import AmountText, ChainName, amount_of, chain_name
from app.db.database import Database
from app.db.engine import reading
from app.estimates.queries import counters_of, epoch_volumes, pool_counters
from app.network.models import Pool
from app.network.rules.pools import PoolCounters, PoolState, opening_counters
from app.network.rules.terms import NetworkTerms
from app.network.sections import Row
from app.network.snapshot import SnapshotSource
from app.transfers.queries.trends import pool_flows
from app.values.amounts import PPM
from app.values.identifiers import ChainId, PoolKey
from app.values.times import Epoch, hour_of

NEAR_PPM: Final = 800_000
"""A cap of which so many millionths are used is nearly reached."""

AHEAD: Final = timedelta(hours=24)
"""A pool that will be full or empty within this time has a warning."""

PACE_HOURS: Final = 24
"""The pace is measured over the transfers that began in the current hour and so many hours before it."""


class Severity(StrEnum):
    """``reached``: estimates are refused by now."""

    REACHED = "reached"
    NEAR = "near"


class PoolWarning(Struct, frozen=True):
    """A warning of a pool. ``within`` is about how long it lasts at the pace of the last day."""

    severity: Severity
    words: str
    within: timedelta | None = None


def pool_warnings(pool: PoolState, came: int, went: int) -> tuple[PoolWarning, ...]:
    """The warnings of a pool whose limits will refuse estimates; limits that are reached come first.

    :param pool: as it is now, with the volume of its epoch.
    :param came: what transfers brought into it in ``PACE_HOURS`` hours, in its smallest units.
    :param went: what they took from it.
    """
    found = [*_of_total_cap(pool), *_of_epoch_cap(pool), *_of_pace(pool, came - went)]
    if pool.counters.balance <= 0:
        found.append(PoolWarning(Severity.REACHED, "empty: nothing can be paid out"))
    return tuple(sorted(found, key=lambda warning: warning.severity is not Severity.REACHED))


def _of_total_cap(pool: PoolState) -> Iterator[PoolWarning]:
    rest = pool.total_rest
    if rest is None or pool.total_cap is None:
        return
    if rest <= 0:
        yield PoolWarning(Severity.REACHED, "at its cap: nothing more can be sent from this chain")
    elif pool.balance * PPM >= pool.total_cap * NEAR_PPM:
        yield PoolWarning(Severity.NEAR, "nearly at its cap")


def _of_epoch_cap(pool: PoolState) -> Iterator[PoolWarning]:
    rest = pool.epoch_rest
    if rest is None or pool.epoch_cap is None:
        return
    if rest <= 0:
        yield PoolWarning(
            Severity.REACHED, "epoch cap used up: nothing more can be sent until the next epoch"
        )
    elif pool.epoch_volume * PPM >= pool.epoch_cap * NEAR_PPM:
        yield PoolWarning(Severity.NEAR, "epoch cap nearly used up")


def _of_pace(pool: PoolState, gained: int) -> Iterator[PoolWarning]:
    """Full or empty soon, if transfers go on as they did."""
    rest = pool.total_rest
    if gained > 0 and rest is not None and rest > 0:
        within = _lasts(rest, gained)
        if within <= AHEAD:
            yield PoolWarning(Severity.NEAR, "at its cap", within)
    if gained < 0 and pool.counters.balance > 0:
        within = _lasts(pool.balance, -gained)
        if within <= AHEAD:
            yield PoolWarning(Severity.NEAR, "empty", within)


def _lasts(amount: int, per_pace: int) -> timedelta:
    """How long an amount lasts, in whole minutes, rounded down; anything over a year is a year."""
    minutes = amount * PACE_HOURS * 60 // per_pace
    return timedelta(minutes=min(minutes, 366 * 24 * 60))


class CapUse(Struct, frozen=True):
    """How much of a cap is used. ``ppm`` is that share in millionths, rounded down; above 1000000 the cap is
    exceeded."""

    used: AmountText
    cap: AmountText
    ppm: int


class PoolLine(Struct, frozen=True):
    """One pool now, in its token's units.

    ``under_zero``: events are missing or the opening values are wrong; estimates count 0 instead.
    ``total`` and ``epoch`` are None without such a cap; the epoch's volume starts again at ``epoch_ends``.
    ``left`` is the most that one transfer can still send from the chain.
    """

    chain: ChainName
    symbol: str
    balance: AmountText
    left: AmountText
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


def pool_lines(
    database: Database, snapshots: SnapshotSource, chain_id: ChainId | None = None
) -> tuple[PoolLine, ...]:
    """The configured pools, those under zero first, then those with warnings, then the fullest.

    :param chain_id: only those on this chain; None: all.
    :raises Unavailable: the configuration cannot be read.
    """
    terms, now = snapshots.current().terms, database.clock()
    pools = {key: pool for key, pool in terms.pools.items() if chain_id in (None, key.chain_id)}
    epochs = {
        key: Epoch.at(now, pool.epoch_seconds)
        for key, pool in pools.items()
        if pool.epoch_cap is not None and pool.epoch_seconds
    }
    with reading(database.reads) as connection:
        moved, flows = pool_counters(connection), pool_flows(connection, hour_of(now) - PACE_HOURS, chain_id)
        volumes = epoch_volumes(connection, epochs)
    lines = [
        _line(
            terms,
            key,
            opening.moved_by(moved.get(key, PoolCounters()), volumes.get(key, 0)),
            epochs.get(key),
            flows.get(key, (0, 0)),
        )
        for key, opening in pools.items()
    ]
    return tuple(sorted(lines, key=lambda line: (*line.order, line.chain.name, line.symbol)))


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
        left=amount(max(0, pool.rest)),
        under_zero=pool.counters.inbound_limit < 0 or pool.counters.balance < 0,
        total=None if pool.total_cap is None else use(pool.balance, pool.total_cap),
        epoch=use(pool.epoch_volume, pool.epoch_cap or 0) if in_epoch else None,
        epoch_ends=None if epoch is None else epoch.ends_at,
        warnings=pool_warnings(pool, *flow),
    )


class PoolsView(NetworkView):
    """Pools and their caps. Balances are counted from the feed."""

    model_class = Pool
    title = "Pools"
    one = "pool"
    explanation = "The liquidity of a token on a chain, and how much the pool may hold and take in."
    nothing = "No pool is configured yet. Add a token first, then its pool."
    new_label = "Add pool"
    column_list = ("symbol", "chain_id", "total_cap", "epoch_cap", "epoch_seconds")
    column_labels = {"epoch_seconds": "Epoch (seconds)"}
    column_sortable_list = ("symbol", "chain_id", "epoch_seconds")
    column_searchable_list = ("symbol",)
    column_default_sort = [("symbol", False), ("chain_id", False)]
    column_filters = (
        ChainIs(Pool.chain_id, "Chain"),
        SymbolIs(Pool.symbol),
        Present(Pool.total_cap, "Total cap", "set", "none"),
        Present(Pool.epoch_cap, "Epoch cap", "set", "none"),
    )
    column_formatters = {
        "total_cap": lambda v, c, m, p: amount_cell(m.total_cap, m.chain_id, m.symbol, "no cap"),
        "epoch_cap": lambda v, c, m, p: amount_cell(m.epoch_cap, m.chain_id, m.symbol, "no cap"),
        "epoch_seconds": lambda v, c, m, p: grouped(m.epoch_seconds),
    }

    def side_tables(self, row: Row) -> Sequence[SideTable]:
        pool = PoolKey(row["chain_id"], row["symbol"])
        opening, moved = opening_counters(row), read(counters_of, pool)
        together = opening + moved
        lines = [
            (name, *(amount_cell(getattr(counters, name), *pool) for counters in (opening, moved, together)))
            for name in ("added", "sent", "relayed", "withdrawn")
        ]
        lines = [(name[:1].upper() + name[1:], *cells) for name, *cells in lines]
        lines.append(("Balance", "", "", amount_cell(together.balance, *pool)))
        return [
            SideTable(
                "Pool balance",
                "Balance = added + sent − relayed − withdrawn. Only the event feed changes these counters.",
                ("", "Opening", "From the feed", "Total"),
                tuple(lines),
            )
        ]
