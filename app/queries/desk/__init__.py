"""Notes and saved filters of operators."""
