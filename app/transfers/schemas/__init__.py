"""The public shapes of transfers, and what fills them."""
