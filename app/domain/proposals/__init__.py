"""Changes that wait for a second person: which they are, and who may decide."""
