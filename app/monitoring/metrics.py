"""All metrics in the text format of Prometheus. The database is read on request."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from typing import Final, Generic, TypeVar

from msgspec import Struct
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric

from app.credentials.rules.ingest_token import EnvironmentTokens
from app.db.database import Database
from app.monitoring import figures
from app.monitoring.figures import CONFIG_GOOD_AT
from app.network.snapshot import SnapshotSource
from app.observability.metric_files import MetricFiles
from app.observability.outages import FAILURES
from app.transfers.rules.stuck import MustAct

T = TypeVar("T")

_log = logging.getLogger(__name__)

SOON: Final = 5.0
SELDOM: Final = 30.0
"""Seconds between two readings: of a few rows, and of what is counted in an index."""

TOO_OLD: Final = 60.0
"""Seconds after its next reading was due, after which an old value is not reported any more."""

TIMEOUT_SECONDS: Final = 1.0
"""How long an answer waits for a running reading."""


class Read(Struct, Generic[T], frozen=True):
    """What was read, and when the reading began, in monotonic seconds."""

    at: float
    value: T


class Cached(Generic[T]):
    """One thread reads at a time, for any number of requests and any duration. Thread-safe."""

    def __init__(
        self,
        what: str,
        read: Callable[[], T],
        every: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        :param what: the name of what is read, for the log.
        :param read: what it raises is logged, and the former value stays.
        :param every: the least seconds from the beginning of one reading to that of the next.
        """
        self.what = what
        self.every = every
        self._read = read
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._begun = float("-inf")
        self._idle = threading.Event()
        self._idle.set()
        self._newest: Read[T] | None = None

    def refresh(self) -> None:
        """Begin a reading if one is due and none is running."""
        with self._lock:
            now = self._monotonic()
            if not self._idle.is_set() or now - self._begun < self.every:
                return
            self._begun = now
            self._idle.clear()
        try:
            threading.Thread(target=self._read_once, name=self.what, daemon=True).start()
        except RuntimeError as error:  # no thread can be started now: the next request tries again
            self._idle.set()
            FAILURES.report(_log, logging.WARNING, "%s cannot be read", self.what, error=error)

    def current(self, until: float, oldest: float) -> Read[T] | None:
        """The newest value, as soon as no reading is running, or at ``until``.

        :param until: monotonic seconds.
        :param oldest: seconds. An older value is not returned: None, as when there is none.
        """
        self._idle.wait(max(0.0, until - self._monotonic()))
        newest = self._newest
        return newest if newest is not None and self._monotonic() - newest.at <= oldest else None

    def _read_once(self) -> None:
        try:
            self._newest = Read(self._begun, self._read())
        except Exception as error:
            FAILURES.report(_log, logging.WARNING, "%s cannot be read", self.what, error=error)
        finally:
            self._idle.set()


class Part(Struct, frozen=True):
    """Metrics that are read together. ``read`` raises where they cannot be read."""

    name: str
    every: float
    read: Callable[[], Sequence[Metric]]


def _family(
    name: str, what: str, labels: Sequence[str], rows: Iterable[tuple[Sequence[str], float]]
) -> Metric:
    family = GaugeMetricFamily(name, what, labels=labels)
    for values, value in rows:
        family.add_metric(values, value)
    return family


def _one(name: str, what: str, value: float) -> Metric:
    return GaugeMetricFamily(name, what, value=value)


def _configuration(database: Database, snapshots: SnapshotSource) -> Sequence[Metric]:
    version = figures.config_version(snapshots)
    levels = figures.pool_levels(database, snapshots)
    return [
        _one("gateway_config_version", "Version of the network's configuration", version),
        _family(
            "gateway_pool_liquidity",
            "Balance of the pool in tokens, rounded: only for graphs",
            ("chain_id", "token"),
            [((str(key.chain_id), key.symbol), level.liquidity) for key, level in levels.items()],
        ),
        _family(
            "gateway_pool_cap",
            "Total cap of the pool in tokens, rounded: only for graphs",
            ("chain_id", "token"),
            [
                ((str(key.chain_id), key.symbol), level.cap)
                for key, level in levels.items()
                if level.cap is not None
            ],
        ),
    ]


def _routes(database: Database, snapshots: SnapshotSource) -> Sequence[Metric]:
    number = figures.far_routes(database, snapshots)
    text = "Open routes whose estimates bring over 1 % more or less than 1 for 1"
    shares = figures.epoch_shares(database, snapshots)
    ages = figures.fee_ages(database, snapshots)
    outcomes = figures.route_outcomes(database, snapshots)
    return [
        _one("gateway_routes_far_rate", text, number),
        _family(
            "gateway_pool_epoch_ratio",
            "Share of its epoch cap that was sent from the pool in this epoch",
            ("chain_id", "token"),
            [((str(key.chain_id), key.symbol), share) for key, share in shares.items()],
        ),
        _family(
            "gateway_base_fee_age_ratio",
            "Age of the oldest base fee of the open routes into the chain, as a share of the allowed one",
            ("chain_id",),
            [((str(chain_id),), age) for chain_id, age in ages.items()],
        ),
        _family(
            "gateway_route_outcomes",
            "Transfers of the route that began in this hour or the six before it, by outcome",
            ("src_chain_id", "dst_chain_id", "token", "outcome"),
            [
                ((str(key.src_chain_id), str(key.dst_chain_id), key.symbol, outcome), number)
                for key, found in outcomes.items()
                for outcome, number in (
                    ("completed", found.completed),
                    ("refund", found.refund),
                    ("failed", found.failed),
                )
            ],
        ),
    ]


def _feed(
    database: Database, snapshots: SnapshotSource, environment_tokens: EnvironmentTokens
) -> Sequence[Metric]:
    ages = figures.reporter_ages(database, environment_tokens)
    contradicted = {**dict.fromkeys(ages, 0), **figures.contradicted_reports(database)}
    rows = [((name, ""), age) for name, age in ages.items()]
    rows += [(("", str(chain_id)), age) for chain_id, age in figures.chain_ages(database, snapshots).items()]
    lags = figures.chain_lags(database, snapshots)
    return [
        _family(
            "gateway_feed_age_seconds",
            "Since an event was last accepted of the reporter, or since the newest event of the chain",
            ("reporter", "chain_id"),
            rows,
        ),
        _family(
            "gateway_contradicted_reports",
            "Reports of logs that the blocks of watched chains do not hold, until a reorganisation",
            ("reporter",),
            [((name,), number) for name, number in contradicted.items()],
        ),
        _family(
            "gateway_chain_lag_seconds",
            "Age of the newest block that a watcher knows of",
            ("chain_id",),
            [((str(chain_id),), lag.seconds) for chain_id, lag in lags.items()],
        ),
        _family(
            "gateway_chain_lag_blocks",
            "Blocks that a watcher knows of and has not read",
            ("chain_id",),
            [((str(chain_id),), lag.blocks) for chain_id, lag in lags.items() if lag.blocks is not None],
        ),
        _family(
            "gateway_watch_disputed_blocks",
            "Blocks about which the URLs of the chain contradict each other, with nothing to decide it",
            ("chain_id",),
            [((str(chain_id),), lag.disputed) for chain_id, lag in lags.items()],
        ),
    ]


def _webhooks(database: Database) -> Sequence[Metric]:
    backlog = figures.webhook_backlog(database)
    return [
        _one("gateway_webhooks_due", "Deliveries that are due and wait for a sender", backlog.due),
        _one(
            "gateway_webhooks_oldest_due_seconds",
            "For how long the first of them is due",
            backlog.oldest_seconds,
        ),
    ]


def _transfers(database: Database) -> Sequence[Metric]:
    statuses = figures.transfers_by_status(database)
    stuck = figures.stuck_transfers(database)
    anomalies = figures.open_anomalies(database)
    refunds = figures.waiting_refunds(database)
    return [
        _family(
            "gateway_transfers",
            "Transfers at the status, counted up to 200000",
            ("status",),
            [((str(status),), number) for status, number in statuses.items()],
        ),
        _one(
            "gateway_transfers_stuck",
            "Transfers that the bridge should have moved on, counted up to 200000",
            stuck[MustAct.BRIDGE],
        ),
        _family(
            "gateway_refunds_oldest_seconds",
            "Since the longest waiting refund at the status reached it; 0 without any",
            ("status",),
            [((str(int(status)),), age) for status, age in refunds.items()],
        ),
        _family(
            "gateway_anomalies",
            "Anomalies that nobody has acknowledged",
            ("kind",),
            [((kind,), number) for kind, number in anomalies.items()],
        ),
        _evidence(database),
    ]


def _evidence(database: Database) -> Metric:
    """A histogram that all gateways on the database report with the same numbers."""
    family = HistogramMetricFamily(
        "gateway_evidence_seconds",
        "From the request of a refund to its quorum of signatures, from there to status 8, and both",
        labels=("stage",),
    )
    for stage, times in figures.evidence_times(database).items():
        bounds = sorted(times.up_to)
        counts = accumulate(times.up_to[bound] for bound in bounds)
        buckets = [(f"{bound}.0", float(count)) for bound, count in zip(bounds, counts, strict=True)]
        family.add_metric((stage,), [*buckets, ("+Inf", buckets[-1][1])], times.seconds)
    return family


def parts_of_state(
    database: Database, snapshots: SnapshotSource, environment_tokens: EnvironmentTokens
) -> Sequence[Part]:
    """The parts that are read from the database."""
    return (
        Part("configuration", SOON, partial(_configuration, database, snapshots)),
        Part("routes", SELDOM, partial(_routes, database, snapshots)),
        Part("feed", SOON, partial(_feed, database, snapshots, environment_tokens)),
        Part("webhooks", SOON, partial(_webhooks, database)),
        Part("transfers", SELDOM, partial(_transfers, database)),
    )


class StateMetrics:
    """The metrics of the database. A part that cannot be read does not affect the others."""

    def __init__(
        self,
        parts: Sequence[Part],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._parts = {
            part.name: Cached(f"metrics of {part.name}", part.read, part.every, monotonic) for part in parts
        }

    def collect(self) -> list[Metric]:
        """All known metrics, and the age of each part, after ``TIMEOUT_SECONDS`` at most."""
        until = self._monotonic() + TIMEOUT_SECONDS
        for cached in self._parts.values():
            cached.refresh()
        metrics: list[Metric] = []
        ages = []
        for name, cached in self._parts.items():
            found = cached.current(until, cached.every + TOO_OLD)
            if found is not None:
                ages.append(((name,), self._monotonic() - found.at))
                metrics += found.value
        metrics.append(
            _family(
                "gateway_state_age_seconds",
                "Since the metrics of a part of the database were read",
                ("part",),
                ages,
            )
        )
        return metrics


CONTENT_TYPE: Final[str] = CONTENT_TYPE_PLAIN_0_0_4


class Exposition:
    """The answer to a request for metrics."""

    def __init__(
        self,
        files: MetricFiles | None,
        state: StateMetrics,
        ready: Callable[[], bool],
        version: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        :param files: what workers count into; None where nothing is counted.
        :param ready: whether the gateway can serve. It answers soon.
        :param version: of this code.
        :param monotonic: the clock of the workers' times: one for all processes of a machine.
        """
        self._files = files
        self._state = state
        self._ready = ready
        self._version = version
        self._monotonic = monotonic

    def text(self) -> bytes:
        """Everything, in UTF-8."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterable[Metric]:
        """The metrics, as prometheus-client requests them."""
        yield GaugeMetricFamily("gateway_ready", "1 while it can serve, as /readyz says", value=self._ready())
        build = GaugeMetricFamily("gateway_build_info", "Which version runs", labels=("version",))
        build.add_metric((self._version,), 1)
        yield build
        if self._files is not None:
            yield from self._counted(self._files)
        yield from self._state.collect()

    def _counted(self, files: MetricFiles) -> Iterable[Metric]:
        for metric in files.collected():
            if metric.name == CONFIG_GOOD_AT:
                oldest = min((sample.value for sample in metric.samples), default=None)
                if oldest is not None:
                    yield GaugeMetricFamily(
                        "gateway_config_age_seconds",
                        "Age of the configuration in memory, of the worker with the oldest",
                        value=max(0.0, self._monotonic() - oldest),
                    )
            else:
                yield metric
