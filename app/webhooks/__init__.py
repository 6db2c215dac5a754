"""Webhooks: subscriptions, deliveries and their outcomes."""
