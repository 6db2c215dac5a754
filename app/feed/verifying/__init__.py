"""Compares projections with the log, part by part, and repairs them."""
