"""SQLAlchemy tables, one aggregate a file."""

from app.models import blocked, events, network, pools, transfers, validators

__all__ = ["blocked", "events", "network", "pools", "transfers", "validators"]
