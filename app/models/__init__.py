"""SQLAlchemy tables, one aggregate a file."""

from app.models import events, pools, transfers, validators

__all__ = ["events", "pools", "transfers", "validators"]
