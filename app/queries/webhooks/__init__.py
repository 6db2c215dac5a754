"""Webhooks: who listens, what is due, and the log of deliveries."""
