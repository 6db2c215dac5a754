"""How long transfers took."""
