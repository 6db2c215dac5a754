"""SQLAlchemy tables, one aggregate a file."""

from app.models import (
    anomalies,
    api_keys,
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
from app.models.desk import notes, saved_filters
from app.models.refunds import asks
from app.models.schema import backfills, floors
from app.models.watching import readings, watches
from app.models.webhooks import deliveries, subscriptions

__all__ = [
    "anomalies",
    "api_keys",
    "asks",
    "audit",
    "backfills",
    "blocked",
    "deliveries",
    "estimates",
    "events",
    "factors",
    "floors",
    "ingest_tokens",
    "latencies",
    "network",
    "notes",
    "operators",
    "pools",
    "proposals",
    "pruned",
    "readings",
    "saved_filters",
    "signatures",
    "subscriptions",
    "transfers",
    "validators",
    "watches",
]
