"""Readiness: app/observability/readiness.py and app/observability/verdicts.py."""
