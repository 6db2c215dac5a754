"""SQLAlchemy tables, one aggregate a file."""

from app.models import (
    anomalies,
    audit,
    blocked,
    estimates,
    events,
    factors,
    ingest_tokens,
    latencies,
    network,
    operators,
    pools,
    proposals,
    pruned,
    signatures,
    transfers,
    validators,
)
from app.models.refunds import asks
from app.models.watching import readings, watches

__all__ = [
    "anomalies",
    "asks",
    "audit",
    "blocked",
    "estimates",
    "events",
    "factors",
    "ingest_tokens",
    "latencies",
    "network",
    "operators",
    "pools",
    "proposals",
    "pruned",
    "readings",
    "signatures",
    "transfers",
    "validators",
    "watches",
]
