"""Changes that wait for a second person."""
