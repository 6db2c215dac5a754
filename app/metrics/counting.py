"""What the workers of one server count, as a part of their application."""

from __future__ import annotations

from typing import Final

from flask import Flask
from prometheus_client import CollectorRegistry

from app.metrics.requests import RequestMetrics, count_requests

_KEY: Final = "metrics"


def count(app: Flask) -> RequestMetrics:
    """Have an application count. To be called before anything else adds hooks to it."""
    metrics = app.extensions[_KEY] = RequestMetrics(CollectorRegistry())
    count_requests(app, metrics)
    return metrics


def counts(app: Flask) -> bool:
    """Whether an application counts."""
    return _KEY in app.extensions
