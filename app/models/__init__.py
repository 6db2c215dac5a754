"""SQLAlchemy tables, one aggregate a file."""

from app.models import (
    anomalies,
    blocked,
    estimates,
    events,
    ingest_tokens,
    network,
    pools,
    transfers,
    validators,
)

__all__ = [
    "anomalies",
    "blocked",
    "estimates",
    "events",
    "ingest_tokens",
    "network",
    "pools",
    "transfers",
    "validators",
]
