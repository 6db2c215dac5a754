"""Subscriptions, the outbox, what senders take and bring back, alerts of operators."""
