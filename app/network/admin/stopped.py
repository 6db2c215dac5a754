"""The chains that are stopped, for the banner of every page and the list of chains."""

from __future__ import annotations

from datetime import datetime, timedelta

from flask import g
from msgspec import Struct

from app.db.database import Database
from app.network.history import chains_stopped_now
from app.parts import current


class Stop(Struct, frozen=True):
    """A stopped chain. ``ago`` is how long ago in its largest unit, empty where that is not known."""

    chain_id: int
    name: str
    reason: str
    at: datetime | None
    ago: str
    by: str | None
    record_id: int | None


def stopped_chains() -> list[Stop]:
    """The stopped chains, the one that was stopped last at the top; read once per request."""
    if "stopped_chains" not in g:
        database = current(Database)
        now = database.clock()
        g.stopped_chains = [
            Stop(
                chain.chain_id, chain.name, chain.reason, chain.at,
                "" if chain.at is None else largest_unit(now - chain.at), chain.by, chain.record_id,
            )
            for chain in chains_stopped_now(database)
        ]  # fmt: skip
    found: list[Stop] = g.stopped_chains
    return found


def largest_unit(age: timedelta) -> str:
    """A duration in its largest unit, such as ``4 min``."""
    seconds = max(int(age.total_seconds()), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
