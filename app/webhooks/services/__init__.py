"""Subscriptions, the outbox, what senders take and store, alerts of operators."""
