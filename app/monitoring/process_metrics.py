"""What each worker reports about itself every few seconds: its connections, what waits, how old its facts
are.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Gauge

from app.audit.keys import AuditKeys
from app.db.database import Database
from app.db.engine import FairPool
from app.http.limits import LimitStore
from app.network.snapshot import SnapshotSource
from app.observability.outages import FAILURES
from app.values.errors import Unavailable
from app.waiting.register import Waiting


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
    return {name: found for name, engine in engines.items() if (found := _of(engine.pool)) is not None}


def _of(pool: object) -> Connections | None:
    if not isinstance(pool, FairPool):
        return None
    return Connections(pool.checkedout(), pool.checkedin(), pool.tickets.waiting, pool.tickets.refused)


EVERY_SECONDS: Final = 1.0

CONFIG_GOOD_AT: Final = "gateway_config_good_at"
"""Not reported directly: the answer computes an age from it, which a hanging worker could not update."""

_KNOWN_LATER: Final = {
    CONFIG_GOOD_AT: ("Monotonic seconds", "livemin"),
    "gateway_replica_in_use": ("1 while all workers read public answers from it", "livemin"),
    "gateway_replica_lag_bytes": ("Of the primary's log, not yet replayed by the replica", "livemax"),
    "gateway_limits_shared": ("1 while all workers count limits together", "livemin"),
    "gateway_audit_heads_noted": ("1 while every place has each head of the audit log", "livemin"),
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
            "The oldest kept facts in an answer of the last second",
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

    Another thread refreshes the configuration: otherwise that of a worker without requests would seem old. It
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
            FAILURES.report(_log, logging.WARNING, "this worker cannot tell how it is", error=error)
        time.sleep(EVERY_SECONDS)


def _renew_for_ever(snapshots: SnapshotSource) -> None:
    while True:
        try:
            snapshots.current()
        except Unavailable:
            pass  # it is logged, and the reported age shows it
        except Exception as error:
            FAILURES.report(_log, logging.WARNING, "the configuration cannot be renewed", error=error)
        time.sleep(EVERY_SECONDS)
