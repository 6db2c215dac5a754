"""The addresses for health and metrics, which callers cannot fill, and what is answered there."""
