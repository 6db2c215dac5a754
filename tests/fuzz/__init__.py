"""Broken and odd requests to all doors of a real gunicorn: ``python -m tests.fuzz``."""
