"""What has come into the log, for those who wait, and all that a transfer's statuses ever followed from."""
