"""What single requests did and how long it took, for those who collect traces (docs/logs.md#tracing)."""
