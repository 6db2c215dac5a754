"""Whether this process can serve."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.exc import SQLAlchemyError

from app.db.engine import ask
from app.db.writes import writes_of
from app.domain.errors import Unavailable
from app.queries.runtime import applied_migrations, is_read_only, schema_floors
from app.runtime.gateway import Gateway
from app.runtime.pooler import pooler_complaint
from app.runtime.ready.feed_ages import StaleFeed, feed_complaint
from app.runtime.ready.schema_range import is_ahead, schema_complaint
from app.runtime.ready.verdicts import unreachable


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
