"""What a reporter may say of a transfer, how it is read, stored and merged, and which of it counts."""
