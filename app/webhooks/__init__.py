"""Webhooks: who subscribed to what, what is to be delivered, and what became of it."""
