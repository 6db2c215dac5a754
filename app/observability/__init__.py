"""Logs, metrics and readiness: how the people who run the gateway see how it does."""
