"""Webhooks: subscriptions, the outbox, what senders take and bring back, replay."""
