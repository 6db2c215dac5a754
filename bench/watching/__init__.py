"""What ``python -m bench.watch`` compares: a chain in memory, and its readers."""
