"""What people are told about their transfer: its course in a few steps, and the words for where it is."""
