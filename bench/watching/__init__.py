"""What ``python -m bench.watch`` compares: a chain out of memory, and those who read it."""
