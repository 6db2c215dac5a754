"""What the database says about how the gateway does, in numbers: for metrics."""
