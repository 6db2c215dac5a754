"""Whether this process can serve, and which schemas this version runs on.

A rolling upgrade runs two versions on one database (docs/decisions/0050-range-of-schemas.md).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from app.db.engine import ask
from app.db.pooler import pooler_complaint
from app.db.queries import applied_migrations, is_read_only, schema_floors
from app.db.writes import writes_of
from app.gateway import Gateway
from app.observability.verdicts import StaleFeed, feed_complaint, unreachable
from app.values.errors import Unavailable

OLDEST_SCHEMA: Final = "0042"
"""The oldest revision of a database that this code runs on. Raised by the release whose code needs more,
with a test that runs it there."""

_MIGRATIONS: Final = Path(__file__).parents[2] / "migrations" / "versions"


@cache
def newest_schema() -> str:
    """The revision that the migrations beside this code lead to: their files are named by it, in order."""
    return max(file.name.partition("_")[0] for file in _MIGRATIONS.glob("[0-9]*.py"))


def schema_complaint(
    applied: Set[str], floors: Set[str], *, oldest: str = OLDEST_SCHEMA, newest: str = ""
) -> str | None:
    """Why code cannot run on a schema, in words for its operator; None when it can.

    :param applied: the revisions that the database is at.
    :param floors: what its migrations say is the newest revision that the oldest code knows which runs there.
    :param oldest: the oldest revision that the code runs on.
    :param newest: the newest revision that the code knows; this version's when empty.
    """
    newest = newest or newest_schema()
    said = ", ".join(sorted(applied)) or "none"
    there = [_number(revision) for revision in applied]
    if len(there) != 1 or there[0] is None or there[0] < _known(oldest):
        needs = newest if oldest == newest else f"{oldest} to {newest}"
        return f"migrations: the database has revision {said}, this version needs {needs}"
    if there[0] > _known(newest) and (too_new := [floor for floor in floors if not _reaches(newest, floor)]):
        return (
            f"migrations: the database has revision {said}, which needs a version that knows {max(too_new)}; "
            f"this one knows {newest}"
        )
    return None


def is_ahead(applied: Set[str]) -> bool:
    """Whether the database has a revision that this code does not know: a newer version migrated it."""
    return any((_number(revision) or 0) > _known(newest_schema()) for revision in applied)


def _reaches(newest: str, floor: str) -> bool:
    needed = _number(floor)
    return needed is not None and _known(newest) >= needed


def _known(revision: str) -> int:
    """The place of one of our own revisions, whose ids are numbers in the order of the migrations."""
    return int(revision)


def _number(revision: str) -> int | None:
    """The place of a revision that somebody else named; None where it is not one of this project's."""
    return int(revision) if revision.isascii() and revision.isdecimal() else None


def what_is_wrong(gateway: Gateway) -> str | None:
    """What keeps the gateway from serving, in words for its operator; None when it can.

    The first thing that is wrong hides the others, which follow from it.

    :raises SQLAlchemyError: the database cannot be reached.
    """
    if complaint := _schema_complaint(gateway):
        return complaint
    if complaint := pooler_complaint(gateway):
        return complaint
    if complaint := gateway.clock_skew.complaint():
        return complaint
    if complaint := _writing_complaint(gateway):
        return complaint
    try:
        gateway.snapshots.current()
    except Unavailable as error:
        return error.msg
    if gateway.feed_ages.fails:
        return feed_complaint(stale_feeds(gateway), gateway.clock())
    return None


def stale_feeds(gateway: Gateway) -> Sequence[StaleFeed]:
    """The chains in service whose feed is older than the settings allow.

    :raises Unavailable: the configuration cannot be read.
    """
    return gateway.feed_ages.stale(gateway.snapshots.current().terms, gateway.clock())


def database_complaint(gateway: Gateway) -> str | None:
    """Why this code cannot use the database, in words for its operator; None when it can."""
    try:
        return _schema_complaint(gateway)
    except SQLAlchemyError as error:
        return unreachable(error)


def _schema_complaint(gateway: Gateway) -> str | None:
    applied = ask(gateway.reads, applied_migrations)
    floors = ask(gateway.reads, schema_floors) if is_ahead(applied) else frozenset()
    return schema_complaint(applied, floors)


def _writing_complaint(gateway: Gateway) -> str | None:
    """Why the database takes no changes, in words for its operator; None when it does."""
    if ask(gateway.reads, is_read_only):
        return "the database accepts no writes: it is a standby or was set to read-only"
    if refusal := writes_of(gateway.engine).complaint(gateway.engine):
        return f"the database accepts no writes ({refusal})"
    return None
