"""The addresses for health and metrics, and the figures that the database holds."""
