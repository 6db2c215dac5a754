"""What each worker tells of itself every few seconds: its connections, who waits, how old its facts are."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from app.domain.errors import Unavailable
from app.outages import FAILURES
from app.runtime.connections import Connections, connections_of
from app.runtime.gateway import Gateway

EVERY_SECONDS: Final = 1.0

CONFIG_GOOD_AT: Final = "gateway_config_good_at"
"""Not told as it is: whoever answers makes an age of it, which a worker that hangs could not keep up."""

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
        self._replica = gauge(
            "gateway_replica_in_use", "1 while all workers read public answers from it", mode="livemin"
        )
        self._lag = gauge(
            "gateway_replica_lag_bytes",
            "Of the primary's log, not yet replayed by the replica",
            mode="livemax",
        )
        self._good_at: Gauge | None = None
        self._facts = gauge(
            "gateway_facts_age_seconds",
            "The oldest kept facts in an answer of the last second",
            mode="livemax",
        )
        self._seen_timeouts: dict[str, int] = {}

    def tell(self, gateway: Gateway) -> None:
        """Tell how this process is now. It reads memory alone."""
        self._workers.set(1)
        pools = connections_of(gateway)
        for name, pool in pools.items():
            for state, number in (("in_use", pool.in_use), ("idle", pool.idle), ("waiting", pool.waiting)):
                self._connections.labels(name, state).set(number)
        self._count_timeouts(pools)
        self._waiters.set(len(gateway.waiting))
        replica = gateway.public_reads.replica
        self._replica.set(replica is not None and replica.may_be_asked())
        if replica is not None and replica.lag_bytes is not None:
            self._lag.set(replica.lag_bytes)
        self._facts.set(gateway.kept_reads.oldest_given())
        good_at = gateway.snapshots.good_at
        if good_at is not None:
            # Made only now: until its first value is set, a metric is 0, as if that were it.
            if self._good_at is None:
                self._good_at = Gauge(
                    CONFIG_GOOD_AT, "Monotonic seconds", registry=self._registry, multiprocess_mode="livemin"
                )
            self._good_at.set(good_at)

    def _count_timeouts(self, pools: Mapping[str, Connections]) -> None:
        for name, pool in pools.items():
            before = self._seen_timeouts.get(name, 0)
            # A pool that was made anew counts from nothing.
            self._timeouts.inc(pool.refused - before if pool.refused >= before else pool.refused)
            self._seen_timeouts[name] = pool.refused


def keep_telling(metrics: ProcessMetrics, gateway: Gateway) -> None:
    """Have a thread of this process tell how it is, every ``EVERY_SECONDS``. Called by each worker itself.

    Another keeps the configuration fresh: without it that of a worker which nobody asks would seem old. It
    may wait for the database, and then its age shows that.
    """
    threading.Thread(target=_for_ever, args=(metrics, gateway), name="metrics", daemon=True).start()
    threading.Thread(target=_renew_for_ever, args=(gateway,), name="configuration", daemon=True).start()


def _for_ever(metrics: ProcessMetrics, gateway: Gateway) -> None:
    while True:
        try:
            metrics.tell(gateway)
        except Exception as error:
            FAILURES.report(_log, logging.WARNING, "this worker cannot tell how it is", error=error)
        time.sleep(EVERY_SECONDS)


def _renew_for_ever(gateway: Gateway) -> None:
    while True:
        try:
            gateway.snapshots.current()
        except Unavailable:
            pass  # the log has it, and its age tells it
        except Exception as error:
            FAILURES.report(_log, logging.WARNING, "the configuration cannot be renewed", error=error)
        time.sleep(EVERY_SECONDS)
