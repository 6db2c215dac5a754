"""Whether what nodes answer can be true: logs against their blocks, headers against their parents."""
