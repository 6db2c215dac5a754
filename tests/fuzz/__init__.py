"""Broken and odd requests to every interface of a real gunicorn."""
