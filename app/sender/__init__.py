"""Sends webhooks: ``flask --app wsgi deliver``."""
