"""Our watcher, as an operator runs it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
import psutil
from sqlalchemy import Row, select

from app.domain.keys import ChainId
from app.models.engine import reading
from app.models.events import Event
from app.queries.watching.readings import watch_row
from app.runtime.gateway import Gateway, current_gateway
from app.services.network.document import import_network
from bench.database import gateway_on
from bench.feed import OPERATOR
from bench.watching.arena import Arena, Reading, begin, finish, running
from bench.watching.setting import CHAIN, watching

READ: Final = "our watcher"
PROVEN: Final = "our watcher, until all is proven"
URLS: Final = ("RPC_URL_FIRST", "RPC_URL_SECOND")
SECRETS: Final = {"SECRET_KEY": "bench" * 8, "AUDIT_KEY": "bench" * 8, "LOG_LEVEL": "WARNING"}


@dataclass(frozen=True, slots=True)
class Watched:
    """What one round of the watcher took, and the facts that it told as lines of the feed.

    :param read: until everything was read once.
    :param proven: until another URL had agreed about everything.
    """

    read: Reading
    proven: Reading
    lines: Sequence[bytes]


@contextmanager
def configured(url: str, document: Mapping[str, Any]) -> Iterator[Gateway]:
    """A gateway on the database, with this network."""
    with gateway_on(url):
        gateway = current_gateway()
        import_network(gateway, orjson.dumps(document), actor=OPERATOR)
        yield gateway


@contextmanager
def watcher(
    database: str, urls: Mapping[str, str], log: Path, chains: Iterable[int] = ()
) -> Iterator[psutil.Popen]:
    """The command, in a process of its own.

    :param urls: of the nodes, by the variables that hold them.
    """
    only = [part for chain in chains for part in ("--chain", str(chain))]
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "watch", *only]
    with running(command, {**SECRETS, **urls, "DATABASE_URL": database}, log) as child:
        yield child


def watch(arena: Arena, round_number: int) -> Watched:
    """Read the chain through two URLs, until all of it is proven."""
    database, log = arena.cluster.migrated(), arena.folder / f"watcher-{round_number}.log"
    names = [f"ours-{round_number}-{place}" for place, _ in enumerate(URLS)]
    urls = {variable: arena.node.url(CHAIN, name) for variable, name in zip(URLS, names, strict=True)}
    with configured(database, watching(URLS)) as gateway, watcher(database, urls, log) as child:
        start = begin(child, arena.node, names)
        read = finish(child, lambda: _reached(gateway, "backfilled_to", arena.last), log)
        asked_until_read = arena.node.asked()
        proven = finish(child, lambda: _reached(gateway, "proven_to", arena.last), log)
        asked = arena.node.asked()
        lines = lines_of(gateway)
    logs = arena.setup.shape.logs
    began = min(asked[name]["first"] for name in names)
    made = [
        sum(counts.get(name, {}).get("HTTP", 0) for name in names) for counts in (asked_until_read, asked)
    ]
    return Watched(
        Reading(READ, read[0] - began, logs, read[1] - start, made[0]),
        Reading(PROVEN, proven[0] - began, logs, proven[1] - start, made[1]),
        lines,
    )


def lines_of(gateway: Gateway) -> list[bytes]:
    """The facts in the gateway's log but for the heads of chains, as lines, in their order."""
    columns = Event.event_id, Event.type, Event.body
    found = select(*columns).where(Event.type != "chain.head").order_by(Event.seq)
    with reading(gateway.engine) as connection:
        rows = connection.execute(found).all()
    return [orjson.dumps({"id": row.event_id, "type": row.type, **orjson.loads(row.body)}) for row in rows]


def place(gateway: Gateway, chain_id: int) -> Row[*tuple[Any, ...]] | None:
    """The row of the chain's reading."""
    with reading(gateway.engine) as connection:
        return watch_row(connection, ChainId(chain_id))


def _reached(gateway: Gateway, bound: str, block: int) -> bool:
    row = place(gateway, CHAIN)
    if row is not None and row.stopped is not None:
        raise SystemExit(f"the watcher stopped: {row.stopped}")
    known = None if row is None else getattr(row, bound)
    return known is not None and known >= block
