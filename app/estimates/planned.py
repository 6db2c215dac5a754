"""Trial estimates of many routes at once: of a planned configuration, and of the one that counts now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from app.db.database import Database
from app.db.engine import reading
from app.estimates.queries import EstimateFacts, epoch_volumes, pool_counters, reported_fees
from app.estimates.rules.trial_estimates import trial_request, try_route
from app.estimates.services import inputs_with
from app.network.rules.far_rates import RouteTrial, dangers, is_far
from app.network.rules.pools import PoolCounters
from app.network.rules.terms import FixedRate, NetworkTerms, pool_is_open
from app.network.snapshot import SnapshotSource
from app.values.identifiers import PoolKey, RouteKey
from app.values.times import Epoch


def try_routes(
    connection: Connection,
    before: NetworkTerms,
    after: NetworkTerms,
    routes: Sequence[RouteKey],
    now: datetime,
) -> Mapping[RouteKey, RouteTrial]:
    """Trials of planned routes, with what has been reported of pools and fees (``TRIAL_ESTIMATES``). All of
    them are in the configuration ``after``.
    """
    was, will = (_facts(connection, terms, routes, now) for terms in (before, after))
    return {
        key: try_route(
            inputs_with(before, trial_request(key), was[key], now) if key in before.routes else None,
            inputs_with(after, trial_request(key), will[key], now),
        )
        for key in routes
    }


def far_routes(database: Database, snapshots: SnapshotSource) -> Mapping[RouteKey, RouteTrial]:
    """The routes that transfers can take now at a rate which a preview would warn of, as liquidity that the
    feed reported after a change may have led to.

    :raises Unavailable: the configuration cannot be read.
    """
    terms, now = snapshots.current().terms, database.clock()
    routes = sorted(key for key in terms.routes if _may_be_far(terms, key))
    with reading(database.reads) as connection:
        facts = _facts(connection, terms, routes, now)
    found = {}
    for key in routes:
        tried = try_route(None, inputs_with(terms, trial_request(key), facts[key], now))
        if not tried.after.refused_by and any(dangers(tried)):
            found[key] = tried
    return found


def _may_be_far(terms: NetworkTerms, key: RouteKey) -> bool:
    """Whether the route is open and its rate is not fixed near 1."""
    rate = terms.routes[key].rate
    near = isinstance(rate, FixedRate) and not is_far(rate.value)
    return not near and key not in terms.blocks and pool_is_open(terms.tokens, terms.routes, key)


def _facts(
    connection: Connection, terms: NetworkTerms, routes: Iterable[RouteKey], now: datetime
) -> Mapping[RouteKey, EstimateFacts]:
    keys = list(routes)
    if not keys:
        return {}
    moved, fees = pool_counters(connection), reported_fees(connection)
    volumes = epoch_volumes(connection, dict(_epochs(terms, {key.src for key in keys}, now)))
    nothing = PoolCounters()
    return {
        key: EstimateFacts(
            moved.get(key.src, nothing), moved.get(key.dst, nothing), volumes.get(key.src, 0), fees.get(key)
        )
        for key in keys
    }


def _epochs(terms: NetworkTerms, pools: Iterable[PoolKey], now: datetime) -> Iterable[tuple[PoolKey, Epoch]]:
    for key in pools:
        pool = terms.pools.get(key)
        if pool is not None and pool.epoch_cap is not None and pool.epoch_seconds:
            yield key, Epoch.at(now, pool.epoch_seconds)
