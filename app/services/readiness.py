"""Can this process serve?"""

from __future__ import annotations

from collections.abc import Set
from functools import cache
from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.exc import SQLAlchemyError

from app.domain.errors import Unavailable
from app.models.engine import reading
from app.queries.readiness import applied_migrations
from app.services.gateway import Gateway


def what_is_wrong(gateway: Gateway, migrations: Set[str]) -> list[str]:
    """What keeps the gateway from serving, in words for its operator; nothing when it can.

    The first thing that is wrong hides the others, which follow from it.

    :param migrations: the revisions that this code was written for.
    """
    try:
        with reading(gateway.engine) as connection:
            applied = applied_migrations(connection)
    except SQLAlchemyError as error:
        return [f"the database cannot be reached ({type(error).__name__})"]
    if applied != migrations:
        return [f"migrations: the database is at {_named(applied)}, this version needs {_named(migrations)}"]
    try:
        gateway.snapshots.current()
    except Unavailable as error:
        return [error.msg]
    return []


@cache
def migration_heads(directory: Path) -> frozenset[str]:
    """The revisions that a database must be at for this code.

    :param directory: where the migrations stand.
    """
    config = Config()
    config.set_main_option("script_location", str(directory))
    return frozenset(ScriptDirectory.from_config(config).get_heads())


def _named(revisions: Set[str]) -> str:
    return ", ".join(sorted(revisions)) or "none"
