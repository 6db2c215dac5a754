"""Estimates in the console."""
