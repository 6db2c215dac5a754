"""Readiness: app/db/schema.py and app/monitoring/readiness.py."""
