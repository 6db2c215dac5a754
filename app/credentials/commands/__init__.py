"""The commands about keys and tokens."""
