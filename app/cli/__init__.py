"""Commands of ``flask --app wsgi``, one group a file."""

from flask import Flask

from app.cli.events import events
from app.cli.network import network


def register(app: Flask) -> None:
    """Add every group to the application's command line."""
    for group in (events, network):
        app.cli.add_command(group)
