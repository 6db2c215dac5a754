"""Programs that `make` runs, in addition to the application."""
