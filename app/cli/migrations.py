"""``flask --app wsgi db …``: Flask-Migrate's commands. What they refuse is one line, with what to do."""

from __future__ import annotations

import logging

from flask_migrate.cli import db as found

from app.cli.terminal import OneLineGroup

db = OneLineGroup(
    "db", commands=found.commands, params=found.params, callback=found.callback, help="Migrate the database."
)


def _with_remedy(record: logging.LogRecord) -> bool:
    """Add what to do to a message of Alembic about a revision that somebody typed."""
    if "Can't locate revision" in str(record.msg):
        record.msg = f"{record.msg}: use one that flask --app wsgi db history lists"
    return True


logging.getLogger("flask_migrate").addFilter(_with_remedy)
