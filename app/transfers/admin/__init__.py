"""Transfers in the console."""
