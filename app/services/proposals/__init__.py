"""Changes that wait for a second person: made, listed, closed. What they change is not known here."""
