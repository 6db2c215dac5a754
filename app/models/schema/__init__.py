"""What migrations keep about the schema itself."""
