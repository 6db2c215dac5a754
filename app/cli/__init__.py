"""What operators type: one module a feature, and the terminal's helpers."""
