"""Logs and metrics: how operators see the state of the gateway."""
