"""Where is a transfer: events, which of them stand, the status they lead to."""
