"""SQLAlchemy tables, one aggregate a file."""

from app.models import (
    anomalies,
    audit,
    blocked,
    estimates,
    events,
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

__all__ = [
    "anomalies",
    "audit",
    "blocked",
    "estimates",
    "events",
    "ingest_tokens",
    "latencies",
    "network",
    "operators",
    "pools",
    "proposals",
    "pruned",
    "signatures",
    "transfers",
    "validators",
]
