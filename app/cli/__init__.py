"""Commands of ``flask --app wsgi``, one group a module."""

from flask import Flask

from app.cli.audit import audit
from app.cli.backup import backup
from app.cli.events import events
from app.cli.evidence import evidence
from app.cli.ingest_tokens import ingest_tokens
from app.cli.network import network
from app.cli.operators import operators
from app.cli.sandbox import sandbox


def register(app: Flask) -> None:
    """Add every group to the application's command line."""
    for group in (audit, events, evidence, ingest_tokens, network, operators, sandbox):
        app.cli.add_command(group)
    app.cli.add_command(backup)
