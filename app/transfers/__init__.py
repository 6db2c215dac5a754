"""Transfers: their events, which of these count, and the status that follows."""
