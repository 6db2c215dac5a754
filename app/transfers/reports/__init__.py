"""What a reporter may report of a transfer, and whose report counts."""
