"""Webhooks: what is told, when it is sent, how it is signed, and which addresses it may go to."""
