"""Every request of every door, counted by what was asked and how it was answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from flask import Flask, Request, Response, request
from prometheus_client import CollectorRegistry, Counter, Histogram

from app.domain.codes import Reason
from app.domain.transfer.events import EventType
from app.http.later import LaterResponse

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Seconds. The fastest answers take half a millisecond; nothing but uploads takes longer than ten seconds."""

STARTED: Final = "gateway.started"
"""Key of the WSGI environment: when the request came to the application, in seconds of ``perf_counter``."""

UNKNOWN: Final = "unknown"
"""Door and operation of a path or a call that does not exist."""

_DOORS: Final[Mapping[str, str]] = {
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
"""By the blueprint. All others are the console's."""

_GRPC_WEB: Final = "grpcweb.call"

_HTTP_STATUS: Final[Mapping[str, int]] = {
    "0": 200, "3": 400, "4": 504, "7": 403, "8": 429, "12": 404, "13": 500, "14": 503, "16": 401,
}  # fmt: skip
"""Of ``grpc-status``: what the same answer is over HTTP. The status of gRPC-Web itself is always 200."""

_REASONS: Final = frozenset(reason.value for reason in Reason)
_TYPES: Final = frozenset(each.value for each in EventType)

_Counted = tuple[Callable[[], None], Callable[[float], None] | None]
"""What counts a request, and what takes its time; None for the door of those who wait."""


def operation_of(asked: Request, calls: Iterable[str] = ()) -> tuple[str, str]:
    """The door and the operation of a request, both of a closed set: nothing of the path is in them.

    Operations of the public door are called the same in both versions of it, and a call over gRPC-Web like
    the method.

    :param calls: the methods of gRPC-Web that there are.
    """
    endpoint = asked.endpoint
    if endpoint is None:
        return UNKNOWN, UNKNOWN
    blueprint, _, view = endpoint.rpartition(".")
    door = _DOORS.get(blueprint, "admin")
    if door == "grpcweb":
        name = (asked.view_args or {}).get("name", "")
        return door, name if name in calls else UNKNOWN
    return door, endpoint if door in ("admin", "pages", "docs") else view


class RequestMetrics:
    """What the workers of a server count. It is made once, before they are forked."""

    def __init__(self, registry: CollectorRegistry, calls: Iterable[str] = ()) -> None:
        """
        :param calls: the methods of gRPC-Web that there are.
        """
        self.registry = registry
        self._calls = frozenset(calls)
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
            "Lines of the feed over HTTP, judged",
            ("type", "outcome"),
            registry=registry,
        )
        self._known: dict[tuple[str, str, int], _Counted] = {}
        self._outcomes: dict[str, Callable[[], None]] = {}
        self._waits: dict[tuple[str, str], Callable[[int], None]] = {}

    def answered(self, asked: Request, answer: Response) -> None:
        """Count a request whose answer is there."""
        endpoint = asked.endpoint
        name, status = "", answer.status_code
        if endpoint == _GRPC_WEB:
            name = (asked.view_args or {}).get("name", "")
            # Names that do not exist must not fill the memory.
            name = name if name in self._calls else UNKNOWN
            status = _HTTP_STATUS.get(answer.headers.get("grpc-status", "0"), 500)
        key = (endpoint or "", name, status)
        counted = self._known.get(key) or self._know(key, *operation_of(asked, self._calls))
        counted[0]()
        observe = counted[1]
        if observe is not None and not answer.is_streamed:
            observe(time.perf_counter() - asked.environ[STARTED])

    def waited(self, asked: Request) -> Callable[[int], None]:
        """What counts a request whose answer comes later, once its status is known.

        It holds nothing of the request, and thousands who wait share it.
        """
        door, operation = operation_of(asked)

        def begun(status: int) -> None:
            self._requests.labels(door, operation, status).inc()

        return self._waits.setdefault((door, operation), begun)

    def _know(self, key: tuple[str, str, int], door: str, operation: str) -> _Counted:
        counted = (
            self._requests.labels(door, operation, key[2]).inc,
            None if door == "wait" else self._seconds.labels(door, operation).observe,
        )
        self._known[key] = counted
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


def count_requests(app: Flask, metrics: RequestMetrics) -> None:
    """Count the requests of an application. To be called before anything else adds hooks to it."""
    answers = app.wsgi_app

    def started(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ[STARTED] = time.perf_counter()
        return answers(environ, start_response)

    app.wsgi_app = started  # type: ignore[method-assign]

    @app.after_request
    def count(answer: Response) -> Response:
        # Whoever registers first is called last: this sees the answer as it goes out.
        asked = request._get_current_object()  # type: ignore[attr-defined]  # each look at the proxy costs
        if isinstance(answer, LaterResponse):
            answer.when_begun(metrics.waited(asked))
        else:
            metrics.answered(asked, answer)
        return answer
