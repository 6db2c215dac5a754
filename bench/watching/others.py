"""The readers that ours is compared with: a loop with web3, Ponder, and the feed itself."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from http.client import HTTPConnection
from typing import Final

import orjson
import psycopg

from app.db.database import Database
from app.feed.services.ingest import Intake, ingest_lines
from app.http.application import part_of
from app.network.document import import_network
from bench.watching.arena import Arena, Reading, begin, finish, module, running
from bench.watching.setting import CHAIN, FIRST_BLOCK, bridges
from bench.watching.web3_loop import abi
from tests.applications import editing_of
from tests.deploy.files import ROOT, free_port
from tests.grpcweb.node import install, locked, node
from tests.load.requests import OPERATOR
from tests.postgres import gateway_on

FEED: Final = "the feed, same facts"
WEB3: Final = "web3 loop"
PONDER: Final = "Ponder"
PONDER_SOURCES: Final = ROOT / "bench" / "contestants" / "ponder"
PONDER_PLACE: Final = ROOT / ".tmp" / "ponder"
PONDER_URLS: Final = 32
"""Ponder begins with 20 requests a second to a URL. So many URLs of the one node do not hold it back."""


def feed(arena: Arena, document: bytes, lines: Sequence[bytes]) -> Reading:
    """The facts of the same logs, as a reporter sends them."""
    with gateway_on(arena.migrated()) as app:
        import_network(*editing_of(app), document, actor=OPERATOR)
        began, cpu = time.perf_counter(), time.process_time()
        taken = ingest_lines(part_of(app, Database), part_of(app, Intake), lines, "bench")
        seconds, used = time.perf_counter() - began, time.process_time() - cpu
    if taken.accepted != len(lines):
        raise SystemExit(f"the feed was not taken: {taken.refused[:1]}")
    return Reading(FEED, seconds, len(lines), used)


def web3_loop(arena: Arena, round_number: int) -> Reading:
    """A plain loop with web3."""
    name = f"web3-{round_number}"
    database = arena.empty().replace("postgresql+psycopg:", "postgresql:")
    log = arena.folder / f"{name}.log"
    bounds = str(FIRST_BLOCK), str(arena.last)
    with running(
        module("bench.watching.web3_loop", arena.url(name), database, *bounds, *_addresses()), {}, log
    ) as child:
        start = begin(child, arena, [name])
        done, used = finish(child, lambda: child.poll() is not None, log)
        if child.returncode:
            raise SystemExit(log.read_text()[-3000:])
    _require_logs(arena, WEB3, database)
    calls = arena.calls()[name]
    return Reading(WEB3, done - calls["first"], arena.logs, used - start, calls["HTTP"])


def ponder(arena: Arena, round_number: int) -> Reading:
    """Ponder, with one row a log; its packages are installed once."""
    PONDER_PLACE.mkdir(parents=True, exist_ok=True)
    with locked(PONDER_PLACE.parent / "lock-ponder"):
        shutil.copytree(PONDER_SOURCES, PONDER_PLACE, dirs_exist_ok=True)
        install(node(), PONDER_SOURCES, PONDER_PLACE)
    name, port = f"ponder-{round_number}", free_port()
    names = [f"{name}-{number}" for number in range(PONDER_URLS)]
    database = arena.empty().replace("postgresql+psycopg:", "postgresql:")
    contest = {
        "chain": CHAIN, "rpc": [*map(arena.url, names)], "abi": abi(), "addresses": _addresses(),
        "first": FIRST_BLOCK, "last": arena.last,
    }  # fmt: skip
    settings = {
        "DATABASE_URL": database, "DATABASE_SCHEMA": "public", "PONDER_TELEMETRY_DISABLED": "1",
        "CONTEST": orjson.dumps(contest).decode(),
    }  # fmt: skip
    command = [str(PONDER_PLACE / "node_modules/.bin/ponder"), "start", "--root", str(PONDER_PLACE)]
    log = arena.folder / f"{name}.log"
    with running([*command, "--port", str(port), "--log-level", "warn"], settings, log) as child:
        start = begin(child, arena, names)
        done, used = finish(child, lambda: _is_ready(port), log)
    _require_logs(arena, PONDER, database)
    calls = [counts for each, counts in arena.calls().items() if each in names]
    began = min(counts["first"] for counts in calls)
    return Reading(PONDER, done - began, arena.logs, used - start, sum(counts["HTTP"] for counts in calls))


def _addresses() -> list[str]:
    contracts = bridges()
    return [f"0x{each.hex()}" for each in (contracts.pool, contracts.vault, contracts.bridge) if each]


def _require_logs(arena: Arena, who: str, database: str) -> None:
    """:raises SystemExit: it did not write nearly all logs."""
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT count(*) FROM logs").fetchone()
    if row is None or row[0] < 0.9 * arena.logs:
        raise SystemExit(f"{who} wrote {row} of {arena.logs} logs")


def _is_ready(port: int) -> bool:
    """Whether all of the past is read: it answers 503 before."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
