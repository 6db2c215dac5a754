"""SQLAlchemy tables, one aggregate a file."""

from app.models import anomalies, audit, blocked, events, ingest_tokens, network, pools, transfers, validators

__all__ = [
    "anomalies",
    "audit",
    "blocked",
    "events",
    "ingest_tokens",
    "network",
    "pools",
    "transfers",
    "validators",
]
