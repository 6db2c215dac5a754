"""SQLAlchemy tables, one aggregate a file."""

from app.models import (
    anomalies,
    blocked,
    events,
    ingest_tokens,
    network,
    pools,
    pruned,
    transfers,
    validators,
)

__all__ = [
    "anomalies",
    "blocked",
    "events",
    "ingest_tokens",
    "network",
    "pools",
    "pruned",
    "transfers",
    "validators",
]
