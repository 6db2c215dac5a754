"""Figures from the database about the gateway (ages, levels of pools, counts, backlogs), and what each worker
reports about itself every few seconds.
"""

from __future__ import annotations

import collections
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Gauge
from sqlalchemy import Engine
from sqlalchemy.pool import QueuePool

from app.audit.keys import AuditKeys
from app.credentials.models import IngestToken
from app.credentials.queries import every_credential, last_accepted
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.db.database import Database
from app.db.engine import reading, run_read, tickets_of
from app.estimates import planned
from app.estimates.queries import epoch_volumes, pool_counters, reported_fees
from app.http.limits import LimitStore
from app.latency.queries import twice_medians_by_pair
from app.latency.rules.median import window
from app.network.rules.pools import PoolCounters
from app.network.rules.terms import base_fee_now, pool_is_open
from app.network.sections import Part
from app.network.snapshot import SnapshotSource
from app.observability.outages import FAILURES
from app.refunds.queries import EVIDENCE_BOUNDS, EVIDENCE_STAGES, evidence_counts
from app.transfers.queries.anomalies import contradicted_by_reporter, open_anomalies_by_kind
from app.transfers.queries.status import count_at_status, oldest_in_state
from app.transfers.queries.trends import HOURLY, chain_progress, trend_counts
from app.transfers.rules.anomalies import AnomalyKind
from app.transfers.rules.stuck import MustAct, Thresholds
from app.transfers.rules.sums import Trends
from app.transfers.services.notes import count_stuck
from app.values.codes import TransferHistoryStatus as Status
from app.values.errors import Unavailable
from app.values.identifiers import ChainId, PoolKey, RouteKey
from app.values.times import Epoch, hour_of
from app.waiting.register import Waiting
from app.watcher.services.chains import watched_chains
from app.webhooks.queries import count_due, due_subscriptions

NEVER: Final = math.inf

UNFINISHED_REFUNDS: Final = (
    Status.TRANSFER_TO_BE_REFUNDED,
    Status.TRANSFER_REQUESTING_REFUND,
    Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
    Status.TRANSFER_CONFIRMING_YOUR_REFUND,
)

MOST_REPORTERS: Final = 200
"""The most reporters that are reported. Those beyond, by their names, are left out."""

EXPIRED_FOR: Final = timedelta(days=7)
"""So long after its token has expired a reporter still has an age. Then it is taken as gone."""


class ChainLag(Struct, frozen=True):
    """How far a watched chain is behind.

    :param seconds: the age of the newest block that a watcher knows; ``NEVER`` before there is one.
    :param blocks: how many known blocks it has not read; None before it has read any.
    :param disputed: about how many blocks its URLs contradict each other, with nothing to decide it.
    """

    seconds: float
    blocks: int | None
    disputed: int


def reporter_ages(database: Database, environment_tokens: EnvironmentTokens) -> Mapping[str, float]:
    """Seconds since the last accepted event, for each reporter with a token that is valid, or has expired a
    moment ago: nobody may have noticed that it fell silent.
    """
    now, ages = database.clock(), {}
    with reading(database.reads) as connection:
        tokens = every_credential(connection, IngestToken)
        known = {
            row.name
            for row in tokens
            if row.revoked_at is None and (row.expires_at is None or row.expires_at > now - EXPIRED_FOR)
        }
        names = known | {token.name for token in environment_tokens}
        for name in sorted(names)[:MOST_REPORTERS]:
            row = last_accepted(connection, name)
            ages[name] = _age(now, None if row is None else row.received_at)
    return ages


def chain_ages(database: Database, snapshots: SnapshotSource) -> Mapping[ChainId, float]:
    """Seconds since the newest event happened, for each chain that is in service.

    :raises Unavailable: the configuration cannot be read.
    """
    now, terms = database.clock(), snapshots.current().terms
    newest = {row.chain_id: row.newest_at for row in run_read(database.reads, chain_progress)}
    return {
        chain_id: _age(now, newest.get(chain_id))
        for chain_id, chain in terms.chains.items()
        if not chain.disabled
    }


def chain_lags(database: Database, snapshots: SnapshotSource) -> Mapping[ChainId, ChainLag]:
    """How far each chain is behind that is configured to be watched.

    :raises Unavailable: the configuration cannot be read.
    """
    now = database.clock()
    return {
        chain.chain_id: ChainLag(
            _age(now, chain.head_at), chain.lag if chain.is_read else None, chain.disputed
        )
        for chain in watched_chains(database, snapshots)
    }


def _age(now: datetime, at: datetime | None) -> float:
    return NEVER if at is None else (now - at).total_seconds()


class PoolLevel(Struct, frozen=True):
    """In tokens, as floating-point numbers: only for graphs. ``cap``: None without one."""

    liquidity: float
    cap: float | None


def config_version(snapshots: SnapshotSource) -> int:
    """The version of the network's configuration; 0 before there is one.

    :raises Unavailable: the configuration cannot be read.
    """
    version = snapshots.current().versions.get(Part.CORE.value)
    return 0 if version is None else version.version


def far_routes(database: Database, snapshots: SnapshotSource) -> int:
    """How many open routes have a rate far from 1.

    :raises Unavailable: the configuration cannot be read.
    """
    return len(planned.far_routes(database, snapshots))


def epoch_shares(database: Database, snapshots: SnapshotSource) -> Mapping[PoolKey, float]:
    """The share of its epoch cap that was sent from each pool with one in the current epoch: 1 is all of it.

    :raises Unavailable: the configuration cannot be read.
    """
    pools, now = snapshots.current().terms.pools, database.clock()
    epochs = {
        key: Epoch.at(now, pool.epoch_seconds)
        for key, pool in pools.items()
        if pool.epoch_cap and pool.epoch_seconds
    }
    sent = run_read(database.reads, epoch_volumes, epochs)
    return {key: sent.get(key, 0) / cap for key in epochs if (cap := pools[key].epoch_cap)}


def fee_ages(database: Database, snapshots: SnapshotSource) -> Mapping[ChainId, float]:
    """The greatest age of a base fee of an open route into each chain, as a share of what the route allows.

    Over 1 the route is refused. ``NEVER`` where a fee is not known. Routes that allow any age are left out.

    :raises Unavailable: the configuration cannot be read.
    """
    terms, now = snapshots.current().terms, database.clock()
    reported = run_read(database.reads, reported_fees)
    ages: dict[ChainId, float] = {}
    for key, route in terms.routes.items():
        if terms.chains[key.src_chain_id].disabled or terms.chains[key.dst_chain_id].disabled:
            continue
        if key in terms.blocks or not pool_is_open(terms.tokens, terms.routes, key):
            continue
        fee, limit = (
            base_fee_now(route.pin, reported.get(key), route.base_fee, now),
            route.base_fee_max_age_seconds,
        )
        if fee is None or route.tiers is None:
            age = NEVER
        elif fee.pinned_until is not None or limit is None:
            continue
        else:
            age = _age(now, fee.since) / limit if limit else NEVER
        ages[key.dst_chain_id] = max(age, ages.get(key.dst_chain_id, 0.0))
    return ages


MOST_ROUTES: Final = 500
"""The most routes whose outcomes are reported: those with the most transfers."""

OUTCOME_HOURS: Final = 6
"""Transfers count that began in so many whole hours, and in the present one."""


def route_outcomes(database: Database, snapshots: SnapshotSource) -> Mapping[RouteKey, Trends]:
    """How the transfers ended that began lately, of each configured route that had any.

    :raises Unavailable: the configuration cannot be read.
    """
    terms = snapshots.current().terms
    first = hour_of(database.clock()) - OUTCOME_HOURS
    found: collections.defaultdict[RouteKey, Trends] = collections.defaultdict(Trends)
    with reading(database.reads) as connection:
        for span, trends in trend_counts(connection, HOURLY, first):
            key = RouteKey(span.symbol, span.src_chain_id, span.dst_chain_id)
            if key in terms.routes or key in terms.pegged:
                found[key].add(trends)
    most = sorted(found, key=lambda key: (-found[key].begun, key))[:MOST_ROUTES]
    return {key: found[key] for key in most}


def waiting_refunds(database: Database) -> Mapping[Status, float]:
    """Seconds since the longest waiting refund came to each status; 0 without any.

    Those that somebody has acknowledged are left out.
    """
    now, ages = database.clock(), {}
    with reading(database.reads) as connection:
        for status in UNFINISHED_REFUNDS:
            first = oldest_in_state(connection, (status,), now, None, 1)
            ages[status] = _age(now, first[0].status_since) if first else 0.0
    return ages


def pool_levels(database: Database, snapshots: SnapshotSource) -> Mapping[PoolKey, PoolLevel]:
    """What each configured pool holds, and its total cap.

    :raises Unavailable: the configuration cannot be read.
    """
    terms = snapshots.current().terms
    moved = run_read(database.reads, pool_counters)
    levels = {}
    for key, opening in terms.pools.items():
        pool, unit = opening.moved_by(moved.get(key, PoolCounters())), 10 ** terms.tokens[key].decimals
        levels[key] = PoolLevel(
            pool.counters.balance / unit, None if pool.total_cap is None else pool.total_cap / unit
        )
    return levels


def transfers_by_status(database: Database) -> Mapping[int, int]:
    """How many transfers are at each status; each counted up to ``COUNTED``."""
    with reading(database.reads) as connection:
        return {int(status): count_at_status(connection, int(status)) for status in Status}


def stuck_transfers(database: Database) -> Mapping[MustAct, int]:
    """How many transfers are longer in their state than the rule allows, by who must act; counted up to
    ``COUNTED``.
    """
    with reading(database.reads) as connection:
        thresholds = Thresholds.of(twice_medians_by_pair(connection, *window(database.clock())))
    return {who: count_stuck(database, who, thresholds)[0] for who in MustAct}


def open_anomalies(database: Database) -> Mapping[str, int]:
    """How many anomalies of each kind are not acknowledged; in all counted up to ``COUNTED``."""
    found = collections.Counter({kind.value: 0 for kind in AnomalyKind})
    found.update(run_read(database.reads, open_anomalies_by_kind))
    return found


def contradicted_reports(database: Database) -> Mapping[str, int]:
    """How many reports of each reporter a block of a watched chain does not hold, among ``COUNTED``."""
    return run_read(database.reads, contradicted_by_reporter)


class Times(Struct):
    """A histogram: how many took up to each number of seconds and longer than the number before."""

    up_to: dict[int, int]
    seconds: float = 0.0


def evidence_times(database: Database) -> Mapping[str, Times]:
    """How long it took until refunds became claimable, by stage: the same for all gateways."""
    found = {stage: Times(dict.fromkeys(EVIDENCE_BOUNDS, 0)) for stage in EVIDENCE_STAGES}
    for row in run_read(database.reads, evidence_counts):
        times = found.setdefault(row.stage, Times({}))
        times.up_to[row.up_to] = row.n
        times.seconds += row.milliseconds / 1_000
    return found


class Backlog(Struct, frozen=True):
    """``due``: deliveries, counted up to ``COUNTED``. ``oldest_seconds``: since when the first of them is
    due, 0 without any.
    """

    due: int
    oldest_seconds: float


def webhook_backlog(database: Database) -> Backlog:
    """The deliveries that are due to active receivers and wait for a sender."""
    now = database.clock()
    with reading(database.reads) as connection:
        due = count_due(connection, now)
        waiting = due_subscriptions(connection, now) if due else ()
    oldest = (now - waiting[0].first_at).total_seconds() if waiting else 0.0
    return Backlog(due, oldest)


class Connections(Struct, frozen=True):
    """Connections of one pool. ``refused``: requests without a connection in time, since it was made."""

    in_use: int
    idle: int
    waiting: int
    refused: int


def connections_of(database: Database) -> Mapping[str, Connections]:
    """The pools by their use: ``reads``, ``feed``, ``console`` and, with a replica, ``replica``."""
    replica = database.public.replica
    engines = {"reads": database.reads, "feed": database.feed, "console": database.engine}
    if replica is not None:
        engines["replica"] = replica.engine
    return {name: found for name, engine in engines.items() if (found := _of(engine)) is not None}


def _of(engine: Engine) -> Connections | None:
    pool, tickets = engine.pool, tickets_of(engine)
    if tickets is None or not isinstance(pool, QueuePool):
        return None
    return Connections(pool.checkedout(), pool.checkedin(), tickets.waiting, tickets.refused)


EVERY_SECONDS: Final = 1.0

CONFIG_GOOD_AT: Final = "gateway_config_good_at"
"""Not reported directly: the answer computes an age from it, which a hanging worker could not update."""

_KNOWN_LATER: Final = {
    CONFIG_GOOD_AT: ("Monotonic seconds", "livemin"),
    "gateway_replica_in_use": ("1 while all workers read public answers from it", "livemin"),
    "gateway_replica_lag_bytes": ("Of the primary's log, not yet replayed by the replica", "livemax"),
    "gateway_limits_shared": ("1 while all workers count limits together", "livemin"),
    "gateway_audit_heads_noted": (
        "1 while no place failed to note its last audit head",
        "livemin",
    ),
}
"""Reported only where there is such a thing, or once it is known: the description, and which worker's value
counts."""

_log = logging.getLogger(__name__)


class ProcessMetrics:
    """The metrics of one worker. It is made in the worker: its master must report nothing."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()

        def gauge(name: str, what: str, labels: tuple[str, ...] = (), mode: str = "livesum") -> Gauge:
            return Gauge(name, what, labels, registry=registry, multiprocess_mode=mode)  # type: ignore[arg-type]

        self._workers = gauge("gateway_workers", "Workers that run")
        self._connections = gauge(
            "gateway_database_connections",
            "Connections to the database of all workers, and requests that wait for one",
            ("pool", "state"),
        )
        self._timeouts = Counter(
            "gateway_database_wait_timeouts",
            "Requests that got no connection to the database in time",
            registry=registry,
        )
        self._waiters = gauge("gateway_waiters", "Callers who wait for a transfer or an account to change")
        self._gauge = gauge
        self._made: dict[str, Gauge] = {}
        self._facts = gauge(
            "gateway_facts_age_seconds",
            "The oldest cached facts in an answer of the last second",
            mode="livemax",
        )
        self._seen_timeouts: dict[str, int] = {}

    def report(
        self,
        database: Database,
        snapshots: SnapshotSource,
        audit_keys: AuditKeys,
        waiting: Waiting,
        limit_store: LimitStore,
    ) -> None:
        """Report the present state of this process. It reads only memory."""
        self._workers.set(1)
        pools = connections_of(database)
        for name, pool in pools.items():
            for state, number in (("in_use", pool.in_use), ("idle", pool.idle), ("waiting", pool.waiting)):
                self._connections.labels(name, state).set(number)
        self._count_timeouts(pools)
        self._waiters.set(len(waiting))
        replica = database.public.replica
        if replica is not None:
            self._set_known("gateway_replica_in_use", replica.is_usable())
            self._set_known("gateway_replica_lag_bytes", replica.lag_bytes)
        self._set_known("gateway_limits_shared", limit_store.shared)
        self._set_known("gateway_audit_heads_noted", audit_keys.anchors.all_noted)
        self._facts.set(database.cached.oldest_given())
        self._set_known(CONFIG_GOOD_AT, snapshots.good_at)

    def _set_known(self, name: str, value: float | None) -> None:
        """Report one of ``_KNOWN_LATER`` if it has a value.

        The metric is made only then: before its first value it would be reported as 0.
        """
        if value is None:
            return
        if name not in self._made:
            what, mode = _KNOWN_LATER[name]
            self._made[name] = self._gauge(name, what, mode=mode)
        self._made[name].set(value)

    def _count_timeouts(self, pools: Mapping[str, Connections]) -> None:
        for name, pool in pools.items():
            before = self._seen_timeouts.get(name, 0)
            # A pool that was made again counts from 0.
            self._timeouts.inc(pool.refused - before if pool.refused >= before else pool.refused)
            self._seen_timeouts[name] = pool.refused


def report_regularly(
    metrics: ProcessMetrics,
    database: Database,
    snapshots: SnapshotSource,
    audit_keys: AuditKeys,
    waiting: Waiting,
    limit_store: LimitStore,
) -> None:
    """Start a thread of this process that reports every ``EVERY_SECONDS``. To be called in each worker.

    Another thread refreshes the configuration of a worker without requests: otherwise it would seem old. It
    may wait for the database, and then the reported age shows that.
    """
    report = partial(metrics.report, database, snapshots, audit_keys, waiting, limit_store)
    threading.Thread(target=_report_for_ever, args=(report,), name="metrics", daemon=True).start()
    threading.Thread(target=_renew_for_ever, args=(snapshots,), name="configuration", daemon=True).start()


def _report_for_ever(report: Callable[[], None]) -> None:
    while True:
        try:
            report()
        except Exception as error:
            FAILURES.report(_log, logging.WARNING, "this worker cannot report its metrics", error=error)
        time.sleep(EVERY_SECONDS)


def _renew_for_ever(snapshots: SnapshotSource) -> None:
    while True:
        try:
            good_at = snapshots.good_at
            if good_at is None or time.monotonic() - good_at > EVERY_SECONDS:
                snapshots.newest()
        except Unavailable:
            pass  # it is logged, and the reported age shows it
        except Exception as error:
            FAILURES.report(_log, logging.WARNING, "the configuration cannot be renewed", error=error)
        time.sleep(EVERY_SECONDS)
