"""Rules: pure functions, without a table, a clock or a request."""
