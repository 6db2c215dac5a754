"""What is decided without a table, a clock or a request."""
