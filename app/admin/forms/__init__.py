"""The console's forms: their fields, how values are read, and how errors are shown."""
