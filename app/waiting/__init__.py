"""Clients that wait for a transfer to change: answers that come later, and streams of events."""
