"""Waiting for transfers instead of asking again and again: a door of its own."""
