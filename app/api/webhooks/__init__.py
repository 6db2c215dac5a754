"""Webhooks of an API key: the views."""
