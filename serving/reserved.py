"""The addresses for health and metrics, which callers cannot fill, and what a worker answers there.

Each has its own queue and its own places in every worker, so that callers cannot fill the others. To a
request that the server cannot read (its first line or its headers are too long or broken) a worker answers
with the fields of every operation at their zero values, as the path is not known then: each client finds
its own (docs/interface/answers.md#unread).
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final

import orjson
from flask import Flask

from app.api import public_answers
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.db.database import Database
from app.http.application import part_of
from app.http.errors import RETRY_SECONDS
from app.http.headers import REASON, REQUEST_ID
from app.http.public import PUBLIC_HEADERS
from app.monitoring.metrics import CONTENT_TYPE, Cached, Exposition, StateMetrics, parts_of_state
from app.monitoring.readiness import Readiness
from app.network.snapshot import SnapshotSource
from app.observability.logs import id_of_unread
from app.observability.metric_files import MetricFiles
from app.release import VERSION
from app.values.codes import ErrCode, Reason
from config import Settings
from serving.address import Address, bind_of

_REMEDIES: Final = {
    414: "omit what is not needed, or send the fields in the body of a POST",
    431: "send fewer or shorter headers",
}


def unread_answer(status: int, phrase: str, complaint: str) -> bytes:
    """The whole HTTP answer, after which the server closes the connection.

    :param status: the HTTP status that the server chose, and ``phrase`` its text.
    :param complaint: what the server found, for people; may be empty.
    """
    own, body = refusal(status, complaint or phrase)
    headers = (*own, ("Content-Length", str(len(body))), ("Connection", "close"))
    lines = (f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers), "", "")
    return "\r\n".join(lines).encode("ascii", "replace") + body


def refusal(status: int, complaint: str) -> tuple[list[tuple[str, str]], bytes]:
    """The headers and the body of an answer that fits any request.

    The headers do not include the body's length or the connection.

    :param status: of HTTP.
    :param complaint: for people.
    """
    said = [text for text in (complaint, _REMEDIES.get(status)) if text]
    err = {"code": ErrCode.ERROR_CODE_COMMON, "msg": "; ".join(said)}
    body = orjson.dumps(every_field() | {"err": err})
    reason = {500: Reason.INTERNAL, 503: Reason.UNAVAILABLE}.get(status, Reason.BAD_REQUEST)
    retry = (("Retry-After", str(RETRY_SECONDS)),) if status == 503 else ()
    return [*PUBLIC_HEADERS, *retry, (REQUEST_ID, id_of_unread()), (REASON, reason.value)], body


@cache
def every_field() -> dict[str, Any]:
    """The fields of all public answers at their zero values. No two answers disagree about one."""
    return {name: zero for shape in public_answers(True).values() for name, zero in shape.dump({}).items()}


HEALTH: Final = "health"
METRICS: Final = "metrics"


def url_of(listener: socket.socket) -> str:
    """Its base address, with the port that the system chose."""
    host, port = listener.getsockname()[:2]
    return f"http://{bind_of(host, port)}"


def further_addresses(settings: Settings) -> list[Address]:
    """Those of health and metrics that are configured."""
    found = []
    if settings.metrics_port is not None:
        found.append(Address(settings.metrics_host, settings.metrics_port, METRICS))
    if settings.health_port is not None:
        found.append(Address(settings.host, settings.health_port, HEALTH))
    return found


def refuse_taken(settings: Settings, bound: Sequence[str]) -> None:
    """Refuse a port of the settings that is in use.

    :param bound: where gunicorn will listen: its own option ``--bind`` can name other addresses.
    :raises SystemExit: with the setting to change.
    """
    for address in (Address(settings.host, settings.port), *further_addresses(settings)):
        if address.bind in bound:
            address.refuse_if_taken()


def purposes(listeners: Sequence[Any], further: Sequence[Address]) -> Mapping[int, str]:
    """The purposes of the listeners that are not for callers, by their number.

    :param listeners: gunicorn's, in the order in which it binds them: the further ones are last. An upgrade
        (USR2) takes over those of the former master, whose settings may have been others.
    :raises SystemExit: these are not the addresses of the settings.
    """
    first = len(listeners) - len(further)
    found = dict(enumerate(further, start=first))
    for number, address in found.items():
        port = listeners[number].sock.getsockname()[1] if number > 0 else None
        if port is None or address.port not in (0, port):
            raise SystemExit(
                f"{address.setting}: the server does not listen at {address.port}: leave out --bind, and "
                "restart the server instead of upgrading it by USR2"
            )
    return {number: address.purpose for number, address in found.items()}


TEXT_SECONDS: Final = 0.25
"""For how long all requests for metrics of a worker get the same text, so that they cannot overload it."""

TEXT_TIMEOUT_SECONDS: Final = 8.0
"""Prometheus waits for ten seconds by default."""

STOPPING: Final = "this gateway is being stopped"

_HEALTH_PATHS: Final = ("/healthz", "/readyz")
_PLAIN: Final = [("Content-Type", "text/plain; charset=utf-8")]

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]
"""A WSGI application."""


def reserved_application(
    purpose: str, application: Flask, files: MetricFiles | None, stopping: Callable[[], bool]
) -> Application:
    """The application for an address of this purpose. To be called in the worker: it reads the database.

    :param files: what all workers count into.
    :param stopping: whether the server is being stopped.
    """
    if purpose == HEALTH:
        return partial(_health, application.wsgi_app, stopping)
    assert purpose == METRICS  # noqa: S101  there is no third
    state = StateMetrics(
        parts_of_state(
            part_of(application, Database),
            part_of(application, SnapshotSource),
            part_of(application, EnvironmentTokens),
        )
    )
    exposition = Exposition(
        files, state, lambda: part_of(application, Readiness).verdict().complaint is None, VERSION
    )
    return partial(_metrics, Cached("metrics", exposition.text, TEXT_SECONDS))


def dispatcher(application: Application) -> Application:
    """Route each request to the application of the address where it arrived."""

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


def _metrics(text: Cached[bytes], environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
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
    """An answer that repeats nothing of the request."""
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
