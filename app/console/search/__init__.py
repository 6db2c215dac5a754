"""The search of the console."""
