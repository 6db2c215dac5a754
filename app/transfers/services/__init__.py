"""The use cases about transfers."""
