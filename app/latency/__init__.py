"""How long transfers between two chains take."""
