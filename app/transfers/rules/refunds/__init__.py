"""The requests of a transfer's refund, and which of them can be claimed."""
