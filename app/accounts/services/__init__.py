"""The use cases about accounts of the console."""
