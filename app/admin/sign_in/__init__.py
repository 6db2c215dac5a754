"""Signing in to the console: accounts for Flask-Security, its settings, sessions that end on the server."""
