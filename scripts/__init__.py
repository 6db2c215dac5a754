"""What `make` runs, beside the application."""
