"""The page for the person who waits for a transfer: without accounts, opened with the JSON interface."""
