"""SQLAlchemy tables, one aggregate a file."""

from app.models import (
    anomalies,
    blocked,
    events,
    ingest_tokens,
    latencies,
    network,
    pools,
    transfers,
    validators,
)

__all__ = [
    "anomalies",
    "blocked",
    "events",
    "ingest_tokens",
    "latencies",
    "network",
    "pools",
    "transfers",
    "validators",
]
