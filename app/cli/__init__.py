"""Commands of ``flask --app wsgi``, one group a module."""

from flask import Flask

from app.cli.api_keys import api_keys
from app.cli.audit import audit
from app.cli.backfill import backfill
from app.cli.backup import backup
from app.cli.events import events
from app.cli.evidence import evidence
from app.cli.ingest_tokens import ingest_tokens
from app.cli.network import network
from app.cli.operators import operators
from app.cli.release import version
from app.cli.sandbox import sandbox


def register(app: Flask) -> None:
    """Add every group and command to the application's command line."""
    groups = (api_keys, audit, events, evidence, ingest_tokens, network, operators, sandbox)
    for group in (*groups, backfill, backup, version):
        app.cli.add_command(group)
