"""What is true without a database or a web: pure functions over frozen data."""
