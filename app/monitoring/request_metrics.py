"""Counts every request of every interface, by its operation and its answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from flask import Flask, Response
from prometheus_client import CollectorRegistry, Counter, Histogram

from app.http.application import GatewayFlask
from app.http.later import LaterResponse
from app.observability.logs import UNKNOWN, Served
from app.transfers.rules.events.event_types import EVENT_CLASSES
from app.values.codes import Reason

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Seconds. The fastest answers take half a millisecond; only uploads take longer than ten seconds."""

_INTERFACES: Final[Mapping[str, str]] = {
    **{f"{version}{part}": "api" for version in ("v1", "v2") for part in ("", "_configs", "_evidence")},
    **{f"{version}_webhooks": "api" for version in ("v1", "v2")},
    "docs": "docs",
    "grpcweb": "grpcweb",
    "health": "health",
    "release": "health",
    "ingest": "ingest",
    "refund_requests": "ingest",
    "pages": "pages",
    "wait": "wait",
}
"""By the blueprint. All others belong to the console."""

_KEY: Final = "metrics"
_GRPC_WEB: Final = "grpcweb."

_HTTP_STATUS: Final[Mapping[str, int]] = {
    "0": 200, "3": 400, "4": 504, "7": 403, "8": 429, "12": 404, "13": 500, "14": 503, "16": 401,
}  # fmt: skip
"""The HTTP status of the same answer, by ``grpc-status``. That of gRPC-Web itself is always 200."""

_REASONS: Final = frozenset(reason.value for reason in Reason)
_TYPES: Final = frozenset(EVENT_CLASSES)

_Counted = tuple[Callable[[], None], Callable[[float], None] | None]
"""A counter of requests, and an observer of their times; None for the interface for waiting."""


def labels_of(operation: str) -> tuple[str, str]:
    """The interface and the operation as the metrics name them, for an operation of the request log.

    Public operations have the same name in both versions, and a call over gRPC-Web that of its method. Paths
    that do not exist are ``unknown``, with the interface ``unknown``.
    """
    blueprint, _, view = operation.rpartition(".")
    if operation == UNKNOWN:
        return UNKNOWN, UNKNOWN
    interface = _INTERFACES.get(blueprint, "admin")
    return interface, operation if interface in ("admin", "pages", "docs") else view


class RequestMetrics:
    """The counts of a server's workers. It is made once, before they are forked."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._requests = Counter(
            "gateway_requests", "Requests answered", ("door", "operation", "code"), registry=registry
        )
        self._seconds = Histogram(
            "gateway_request_seconds",
            "Time until an answer is there; waits and streams are left out",
            ("door", "operation"),
            registry=registry,
            buckets=BUCKETS,
        )
        self._estimates = Counter(
            "gateway_estimates", "Estimates by outcome: ok or the reason", ("reason",), registry=registry
        )
        self._events = Counter(
            "gateway_feed_events",
            "Lines of the feed over HTTP, by outcome",
            ("type", "outcome"),
            registry=registry,
        )
        self._known: dict[tuple[str, int], _Counted] = {}
        self._outcomes: dict[str, Callable[[], None]] = {}
        self._waits: dict[str, Callable[[int], None]] = {}

    def answered(self, served: Served, answer: Response) -> None:
        """Count a request: now if its answer is complete, else when the later answer begins."""
        operation, status = served.operation, answer.status_code
        if isinstance(answer, LaterResponse):
            answer.when_begun(self.waited(operation))
            return
        if operation.startswith(_GRPC_WEB):
            status = _HTTP_STATUS.get(answer.headers.get("grpc-status", "0"), 500)
        count, observe = self._known.get((operation, status)) or self._know(operation, status)
        count()
        if observe is not None and not answer.is_streamed:
            observe(time.perf_counter() - served.began)

    def waited(self, operation: str) -> Callable[[int], None]:
        """A counter for a request whose answer comes later, called with its status.

        It refers to nothing of the request, and thousands of waiting requests share it.
        """
        labels = labels_of(operation)

        def begun(status: int) -> None:
            self._requests.labels(*labels, status).inc()

        return self._waits.setdefault(operation, begun)

    def _know(self, operation: str, status: int) -> _Counted:
        interface, name = labels_of(operation)
        counted = self._known[operation, status] = (
            self._requests.labels(interface, name, status).inc,
            None if interface == "wait" else self._seconds.labels(interface, name).observe,
        )
        return counted

    def estimate(self, reason: str) -> None:
        """See ``Counters``."""
        counted = self._outcomes.get(reason)
        if counted is None:
            known = reason if reason in _REASONS else Reason.INTERNAL.value
            counted = self._estimates.labels(known if reason else "ok").inc
            if reason in _REASONS or not reason:
                self._outcomes[reason] = counted
        counted()

    def feed(self, outcomes: Mapping[tuple[str, str], int]) -> None:
        """See ``Counters``."""
        for (kind, outcome), number in outcomes.items():
            self._events.labels(kind if kind in _TYPES else "unreadable", outcome).inc(number)


def count(app: GatewayFlask) -> RequestMetrics:
    """Make an application count its requests."""
    metrics = app.extensions[_KEY] = RequestMetrics(CollectorRegistry())
    app.count = metrics.answered
    return metrics


def counts(app: Flask) -> bool:
    """Whether an application counts."""
    return _KEY in app.extensions
