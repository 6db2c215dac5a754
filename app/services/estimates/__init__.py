"""Estimates of what a transfer costs and brings."""
