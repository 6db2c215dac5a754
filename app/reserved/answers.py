"""What a worker answers at the addresses for health and metrics, and nowhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from flask import Flask

from app.api.health import is_ready
from app.api.unread import refusal
from app.metrics.exposition import CONTENT_TYPE, Exposition
from app.metrics.files import MetricFiles
from app.metrics.state import Kept, StateMetrics
from app.release import VERSION
from app.reserved.addresses import HEALTH, METRICS

TEXT_SECONDS: Final = 0.25
"""For how long all who request metrics of a worker get the same text: nobody keeps it busy by requesting."""

TEXT_TIMEOUT_SECONDS: Final = 8.0
"""Prometheus waits for ten seconds where nothing else is said."""

STOPPING: Final = "this gateway is being stopped"

_HEALTH_PATHS: Final = ("/healthz", "/readyz")
_PLAIN: Final = [("Content-Type", "text/plain; charset=utf-8")]

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]
"""Of WSGI."""


def reserved_application(
    purpose: str, application: Flask, files: MetricFiles | None, stopping: Callable[[], bool]
) -> Application:
    """What answers at an address of this purpose. To be called in the worker: it reads the database.

    :param files: what all workers count into.
    :param stopping: whether the server is being stopped.
    """
    if purpose == HEALTH:
        return partial(_health, application.wsgi_app, stopping)
    assert purpose == METRICS  # noqa: S101  there is no third
    gateway = application.extensions["gateway"]
    exposition = Exposition(files, StateMetrics(gateway), lambda: is_ready(gateway), VERSION)
    return partial(_metrics, Kept("metrics", exposition.text, TEXT_SECONDS))


def dispatcher(application: Application) -> Application:
    """Hand each request to the application of the address that it came to."""

    def dispatch(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        reserved: Application | None = environ["gunicorn.socket"].application
        return (reserved or application)(environ, start_response)

    return dispatch


def _health(
    application: Application, stopping: Callable[[], bool], environ: dict[str, Any], start_response: Any
) -> Iterable[bytes]:
    path = environ["PATH_INFO"]
    if path not in _HEALTH_PATHS:
        return _plain(environ, start_response, "404 Not Found")
    if path == "/readyz" and stopping():
        headers, body = refusal(503, STOPPING)
        return _answer(environ, start_response, "503 Service Unavailable", headers, body)
    return application(environ, start_response)


def _metrics(text: Kept[bytes], environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    if environ["PATH_INFO"] != "/metrics":
        return _plain(environ, start_response, "404 Not Found")
    if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
        return _plain(environ, start_response, "405 Method Not Allowed", ("Allow", "GET, HEAD"))
    text.refresh()
    found = text.current(time.monotonic() + TEXT_TIMEOUT_SECONDS, TEXT_TIMEOUT_SECONDS)
    if found is None:
        return _plain(environ, start_response, "503 Service Unavailable")
    headers = [("Content-Type", CONTENT_TYPE), ("Cache-Control", "no-store")]
    return _answer(environ, start_response, "200 OK", headers, found.value)


def _plain(
    environ: Mapping[str, Any], start_response: Any, status: str, *headers: tuple[str, str]
) -> list[bytes]:
    """Nothing of the request is repeated."""
    return _answer(environ, start_response, status, [*_PLAIN, *headers], f"{status[4:]}\n".encode())


def _answer(
    environ: Mapping[str, Any],
    start_response: Any,
    status: str,
    headers: list[tuple[str, str]],
    body: bytes,
) -> list[bytes]:
    start_response(status, [*headers, ("Content-Length", str(len(body)))])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
