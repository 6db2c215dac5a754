"""The console's forms, and how they are read."""
