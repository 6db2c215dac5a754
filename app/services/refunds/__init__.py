"""Refund evidence as it is served and verified."""
