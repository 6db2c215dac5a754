"""``flask --app wsgi db …``: Flask-Migrate's commands. Their errors are one line, with what to do."""

from __future__ import annotations

import logging
from typing import Any

import click
from flask.cli import with_appcontext
from flask_migrate.cli import db as found

from app.cli.terminal import OneLineGroup, say
from app.db.database import Database
from app.db.schema import schema_in_words
from app.http.application import current


def _reported(name: str) -> click.Command:
    """The command, which also says from which schema to which it went. Only an upgrade creates a database."""
    command = found.commands[name]
    migrate = command.callback
    assert migrate is not None  # noqa: S101  a command of Flask-Migrate

    @with_appcontext
    def migrate_and_say(**given: Any) -> None:
        if given["sql"]:  # standard output has the statements
            migrate(**given)
            return
        database = current(Database)
        before = schema_in_words(database, may_be_missing=name == "upgrade")
        migrate(**given)
        after, address = schema_in_words(database), database.address
        say(
            f"{address} has {after} already: nothing to do"
            if after == before
            else f"{address} has {after} now; before, it had {before}"
        )

    return click.Command(name, params=command.params, callback=migrate_and_say, help=command.help)


db = OneLineGroup(
    "db",
    commands={**found.commands, **{name: _reported(name) for name in ("upgrade", "downgrade", "stamp")}},
    params=found.params,
    callback=found.callback,
    help="Migrate the database.",
)


def _with_remedy(record: logging.LogRecord) -> bool:
    """Add what to do to a message of Alembic about a revision that somebody typed."""
    if "Can't locate revision" in str(record.msg):
        record.msg = f"{record.msg}: use one that flask --app wsgi db history lists"
    return True


logging.getLogger("flask_migrate").addFilter(_with_remedy)
