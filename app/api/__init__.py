"""The HTTP/JSON door."""
