"""Our watcher, as an operator runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.network.document import import_network
from app.transfers.models import Event
from app.values.identifiers import ChainId
from app.watcher.queries import watch_row
from bench.watching.arena import Arena, Reading, begin, finish, module, running
from bench.watching.setting import CHAIN, PROVIDERS, watching
from tests.applications import editing_of
from tests.load.requests import OPERATOR
from tests.postgres import gateway_on

READ: Final = "our watcher"
PROVEN: Final = "our watcher, until all is proven"
URLS: Final = ("RPC_URL_FIRST", "RPC_URL_SECOND")
SECRETS: Final = {"SECRET_KEY": "bench" * 8, "AUDIT_KEY": "bench" * 8, "LOG_LEVEL": "WARNING"}


@dataclass(frozen=True, slots=True)
class Watched:
    """What one round of the watcher took, and the facts that it reported as lines of the feed.

    :param read: until everything was read once.
    :param proven: until another URL had agreed about everything.
    """

    read: Reading
    proven: Reading
    lines: Sequence[bytes]


def watch(arena: Arena, round_number: int) -> Watched:
    """Read the chain through the URLs of two providers, until all of it is proven."""
    database, log = arena.migrated(), arena.folder / f"watcher-{round_number}.log"
    names = [f"ours-{round_number}-{place}" for place, _ in enumerate(URLS)]
    urls = {
        variable: arena.url(name, provider)
        for variable, name, provider in zip(URLS, names, PROVIDERS, strict=True)
    }
    with gateway_on(database) as app:
        kept = part_of(app, Database)
        import_network(*editing_of(app), orjson.dumps(watching(URLS)), actor=OPERATOR)
        settings = {**SECRETS, **urls, "DATABASE_URL": database}
        with running(module("flask", "--app", "wsgi", "watch"), settings, log) as child:
            start = begin(child, arena, names)
            read = finish(child, lambda: _reached(kept, "backfilled_to", arena.last), log)
            calls_until_read = arena.calls()
            proven = finish(child, lambda: _reached(kept, "proven_to", arena.last), log)
            calls = arena.calls()
        lines = lines_of(kept)
    began = min(calls[name]["first"] for name in names)
    made = [
        sum(counts.get(name, {}).get("HTTP", 0) for name in names) for counts in (calls_until_read, calls)
    ]
    return Watched(
        Reading(READ, read[0] - began, arena.logs, read[1] - start, made[0]),
        Reading(PROVEN, proven[0] - began, arena.logs, proven[1] - start, made[1]),
        lines,
    )


def lines_of(database: Database) -> list[bytes]:
    """The facts in the gateway's log except the heads of chains, as lines, in their order."""
    columns = Event.event_id, Event.type, Event.body
    found = select(*columns).where(Event.type != "chain.head").order_by(Event.seq)
    with reading(database.engine) as connection:
        rows = connection.execute(found).all()
    return [orjson.dumps({"id": row.event_id, "type": row.type, **orjson.loads(row.body)}) for row in rows]


def _reached(database: Database, bound: str, block: int) -> bool:
    with reading(database.engine) as connection:
        row = watch_row(connection, ChainId(CHAIN))
    if row is not None and row.stopped is not None:
        raise SystemExit(f"the watcher stopped: {row.stopped}")
    known = None if row is None else getattr(row, bound)
    return known is not None and known >= block
