"""What the workers of one server count, as a part of their application."""

from __future__ import annotations

from typing import Final

from flask import Flask
from prometheus_client import CollectorRegistry

from app.http.hosts import GatewayFlask
from app.metrics.requests import RequestMetrics

_KEY: Final = "metrics"


def count(app: GatewayFlask) -> RequestMetrics:
    """Have an application count."""
    metrics = app.extensions[_KEY] = RequestMetrics(CollectorRegistry())
    app.count = metrics.answered
    return metrics


def counts(app: Flask) -> bool:
    """Whether an application counts."""
    return _KEY in app.extensions
