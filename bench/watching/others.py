"""The readers that ours is compared with: a loop with web3, and the feed itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import psycopg

from app.feed.services.ingest import ingest_lines
from app.network.document import import_network
from bench.watching.arena import Arena, Reading, begin, finish, module, running
from bench.watching.setting import FIRST_BLOCK, bridges
from tests.gateway import current_gateway
from tests.load.questions import OPERATOR
from tests.postgres import gateway_on

FEED: Final = "the feed, same facts"
WEB3: Final = "web3 loop"


def feed(arena: Arena, document: bytes, lines: Sequence[bytes]) -> Reading:
    """The facts of the same logs, as a reporter sends them."""
    with gateway_on(arena.migrated()):
        gateway = current_gateway()
        import_network(*gateway.editing, document, actor=OPERATOR)
        began, cpu = time.perf_counter(), time.process_time()
        taken = ingest_lines(gateway.database, gateway.intake, lines, "bench")
        seconds, used = time.perf_counter() - began, time.process_time() - cpu
    if taken.accepted != len(lines):
        raise SystemExit(f"the feed was not taken: {taken.refused[:1]}")
    return Reading(FEED, seconds, len(lines), used)


def web3_loop(arena: Arena, round_number: int) -> Reading:
    """A plain loop with web3."""
    name = f"web3-{round_number}"
    database = arena.empty().replace("postgresql+psycopg:", "postgresql:")
    log = arena.folder / f"{name}.log"
    contracts = bridges()
    addresses = [f"0x{each.hex()}" for each in (contracts.pool, contracts.vault, contracts.bridge) if each]
    bounds = str(FIRST_BLOCK), str(arena.last)
    with running(
        module("bench.watching.web3_loop", arena.url(name), database, *bounds, *addresses), {}, log
    ) as child:
        start = begin(child, arena, [name])
        done, used = finish(child, lambda: child.poll() is not None, log)
        if child.returncode:
            raise SystemExit(log.read_text()[-3000:])
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT count(*) FROM logs").fetchone()
    if row is None or row[0] < 0.9 * arena.logs:
        raise SystemExit(f"{WEB3} wrote {row} of {arena.logs} logs")
    calls = arena.calls()[name]
    return Reading(WEB3, done - calls["first"], arena.logs, used - start, calls["HTTP"])
