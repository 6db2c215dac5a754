"""The refund of one transfer: its requests, signatures and evidence."""
