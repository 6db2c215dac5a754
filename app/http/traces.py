"""Traces of one worker, by OpenTelemetry's own instrumentation, an extra (docs/logs.md#tracing).

OpenTelemetry's own variables set what is recorded, and where it is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flask import Flask, Response
from opentelemetry.distro import OpenTelemetryConfigurator
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor
from opentelemetry.trace import get_current_span

from app.observability.logs import SERVED

_OF_CALLERS: Final = (
    "client.address", "http.target", "http.url", "http.user_agent", "net.peer.ip", "net.peer.port",
    "network.peer.address", "network.peer.port", "url.full", "url.path", "url.query", "user_agent.original",
)  # fmt: skip
"""Attributes that the library fills with accounts and with callers' addresses."""


def trace(application: Flask, engines: Sequence[Any]) -> None:
    """Record the requests of a worker and their statements.

    To be called in the worker: a thread sends the spans, and threads do not survive a fork.
    """
    OpenTelemetryConfigurator().configure()  # type: ignore[no-untyped-call]  # half of the library has types
    # It declares SQLAlchemy up to 2.0; tests/serving/test_traces.py has it record statements of ours.
    SQLAlchemyInstrumentor().instrument(engines=engines, skip_dep_check=True)
    FlaskInstrumentor().instrument_app(application, enable_commenter=False)  # type: ignore[no-untyped-call]
    application.before_request(_begin)
    hooks = application.before_request_funcs[None]
    hooks[:0] = [hooks.pop(-2), hooks.pop()]  # before those that may answer by themselves
    application.after_request(_end)


def _begin() -> None:
    """Put the trace's id into the log, and remove the caller from the trace."""
    span, served = get_current_span(), SERVED.get()
    if not span.is_recording() or served is None:
        return
    served.trace_id = f"{span.get_span_context().trace_id:032x}"
    for name in _OF_CALLERS:
        if name in getattr(span, "attributes", ()):
            span.set_attribute(name, "")
    span.set_attribute("request.id", served.id)


def _end(response: Response) -> Response:
    """Name the span as the request log does: without a route, its name would be the path."""
    if served := SERVED.get():
        get_current_span().update_name(served.operation)
    return response
