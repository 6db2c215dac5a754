"""Reads chains from their nodes, and reports what their contracts logged."""
