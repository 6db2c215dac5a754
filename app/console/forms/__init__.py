"""What operators fill in, and how it is read."""
