"""What one process is made of: its dependencies, where it reads, its counters, keys and faults."""
