"""Explained estimates and figures about latencies: the shapes of their questions and answers."""
