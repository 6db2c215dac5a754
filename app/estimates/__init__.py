"""What a transfer would cost, and what its receiver would get."""
