"""What happened over time, and where it leads: read models that only read."""
