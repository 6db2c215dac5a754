"""Webhooks: who subscribed to what, what is to be delivered, and which alerts hold."""
