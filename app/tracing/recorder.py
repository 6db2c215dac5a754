"""Spans handed to a collector over OTLP/HTTP. The only module that imports the library.

Where the collector is and what it wants to be told is said by the library's own variables, ``OTEL_…``.
"""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    TraceFlags,
    Tracer,
    set_span_in_context,
)

from app.tracing.spans import Parent

SERVICE: Final = "transfer-gateway"
"""The name of the service, where ``OTEL_SERVICE_NAME`` says no other."""

EXPORT_SECONDS: Final = 2.0
"""How long one batch may take to be handed over, and the last ones when the process ends."""

QUEUE: Final = 1024
"""Spans that wait to be handed over. Further ones replace the oldest."""

BATCH: Final = 64
"""Spans handed over at once: writing them keeps a processor busy, and requests wait meanwhile."""

EVERY_MILLISECONDS: Final = 1000

LOG_SECONDS: Final = 60.0
"""Between two entries about batches that were not taken."""

_LIBRARY: Final = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.sdk._shared_internal",
)
"""What logs each batch that is not taken: two entries a second of every process while a collector is away."""


class _Seldom(logging.Filter):
    """Lets one entry a minute through."""

    _next_at = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if record.levelno < logging.WARNING or now < self._next_at:
            return record.levelno < logging.WARNING
        self._next_at = now + LOG_SECONDS
        return True


class OtlpRecorder:
    """Makes spans. What hands them over starts with the first one: in the process that serves."""

    def __init__(self) -> None:
        self._tracer: Tracer | None = None
        self._provider: TracerProvider | None = None
        self._export: _Bounded | None = None
        os.register_at_fork(after_in_child=self._forget)
        for logger in map(logging.getLogger, _LIBRARY):
            if not any(isinstance(each, _Seldom) for each in logger.filters):
                logger.addFilter(_Seldom())

    def root(self, name: str, parent: Parent | None, *, serves: bool) -> Span:
        """See ``Recorder.root``."""
        context = None if parent is None else set_span_in_context(NonRecordingSpan(_remote(parent)))
        kind = SpanKind.SERVER if serves else SpanKind.INTERNAL
        return self._started().start_span(name, context, kind)

    def child(self, name: str, within: Any, facts: Mapping[str, Any]) -> Span:
        """See ``Recorder.child``."""
        return self._started().start_span(name, set_span_in_context(within), attributes=dict(facts))

    def trace_id(self, span: Any) -> str:
        """See ``Recorder.trace_id``."""
        return f"{span.get_span_context().trace_id:032x}"

    def stop(self) -> None:
        """See ``Recorder.stop``."""
        if self._provider is not None and self._export is not None:
            self._export.until = time.monotonic() + EXPORT_SECONDS
            self._provider.shutdown()
            self._forget()

    def _started(self) -> Tracer:
        if self._tracer is None:
            resource = Resource({"service.name": SERVICE}).merge(OTELResourceDetector().detect())
            self._provider = TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False)
            self._export = _Bounded(OTLPSpanExporter(timeout=EXPORT_SECONDS))
            self._provider.add_span_processor(
                BatchSpanProcessor(
                    self._export,
                    max_queue_size=QUEUE,
                    schedule_delay_millis=EVERY_MILLISECONDS,
                    max_export_batch_size=BATCH,
                )
            )
            self._tracer = self._provider.get_tracer("app")
            atexit.register(self.stop)
        return self._tracer

    def _forget(self) -> None:
        """A forked process begins anew: the thread that hands over was not forked."""
        self._tracer = self._provider = self._export = None


class _Bounded(SpanExporter):
    """Hands over to another one, until the time is up that the end of the process may take."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.until: float | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Hand over, or drop."""
        if self.until is not None and time.monotonic() > self.until:
            return SpanExportResult.FAILURE
        return self._exporter.export(spans)

    def shutdown(self) -> None:
        """End."""
        self._exporter.shutdown()


def _remote(parent: Parent) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if parent.sampled else TraceFlags.DEFAULT)
    return SpanContext(parent.trace_id, parent.span_id, is_remote=True, trace_flags=flags)
