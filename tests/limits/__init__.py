"""The limits with a real Redis."""
