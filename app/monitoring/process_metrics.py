"""What each worker reports of itself every few seconds: its connections, who waits, how old its facts are."""

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
from app.http.limit_counts import LimitStore
from app.network.snapshot import SnapshotSource
from app.observability.outages import FAILURES
from app.values.errors import Unavailable
from app.waiting.register import Waiting


class Connections(Struct, frozen=True):
    """Of one pool. ``refused``: how many got no connection in time, since the pool was made."""

    in_use: int
    idle: int
    waiting: int
    refused: int


def connections_of(database: Database) -> Mapping[str, Connections]:
    """The pools by what they are for: ``reads``, ``feed``, ``console`` and, with a replica, ``replica``."""
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
"""Not told as it is: whoever answers makes an age of it, which a worker that hangs could not keep up."""

_KNOWN_LATER: Final = {
    CONFIG_GOOD_AT: ("Monotonic seconds", "livemin"),
    "gateway_replica_in_use": ("1 while all workers read public answers from it", "livemin"),
    "gateway_replica_lag_bytes": ("Of the primary's log, not yet replayed by the replica", "livemax"),
    "gateway_limits_shared": ("1 while all workers count limits together", "livemin"),
    "gateway_audit_heads_noted": ("1 while every place has each head of the audit log", "livemin"),
}
"""What is told where there is such a thing, or once it is known: what it is, and which worker's is told."""

_log = logging.getLogger(__name__)


class ProcessMetrics:
    """What one worker tells. It is made in the worker: its master must tell nothing."""

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

    def tell(
        self,
        database: Database,
        snapshots: SnapshotSource,
        audit_keys: AuditKeys,
        waiting: Waiting,
        limit_store: LimitStore,
    ) -> None:
        """Tell how this process is now. It reads memory alone."""
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
        """Tell one of ``_KNOWN_LATER`` where there is anything to tell.

        It is made only then: until its first value is set, a metric is 0, as if that were it.
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
            # A pool that was made anew counts from nothing.
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
    """Have a thread of this process tell how it is, every ``EVERY_SECONDS``. Called by each worker itself.

    Another keeps the configuration fresh: without it that of a worker which nobody asks would seem old. It
    may wait for the database, and then its age shows that.
    """
    report = partial(metrics.tell, database, snapshots, audit_keys, waiting, limit_store)
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
            pass  # the log has it, and its age tells it
        except Exception as error:
            FAILURES.report(_log, logging.WARNING, "the configuration cannot be renewed", error=error)
        time.sleep(EVERY_SECONDS)
