"""The readers that ours is compared with: Ponder, a loop with web3, and the feed itself."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

import psycopg

from app.runtime.gateway import current_gateway
from app.services.feed.ingest import ingest_lines
from app.services.network.document import import_network
from bench.database import gateway_on
from bench.feed import OPERATOR
from bench.serving import ROOT, free_port
from bench.watching.arena import Arena, Reading, begin, finish, module, running
from bench.watching.databases import plain

SOURCES: Final = ROOT / "bench" / "ponder"
WORKSHOP: Final = ROOT / ".tmp" / "ponder"
NPM_CI: Final = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
LIMITS: Final = ("const INITIAL_MAX_RPS = 20;", "const MAX_RPS = 500;")
"""Ponder's own limit of calls a second to a URL, which it raises by a twentieth now and then."""

FEED: Final = "the feed, same facts"
PONDER: Final = "Ponder, its limit of calls lifted"
PONDER_AS_IT_COMES: Final = "Ponder as it comes"
WEB3: Final = "web3 loop"


def feed(arena: Arena, document: bytes, lines: Sequence[bytes]) -> Reading:
    """The facts of the same logs, as a reporter sends them."""
    with gateway_on(arena.cluster.migrated()):
        gateway = current_gateway()
        import_network(gateway, document, actor=OPERATOR)
        began, cpu = time.perf_counter(), time.process_time()
        taken = ingest_lines(gateway, lines, "bench")
        seconds, used = time.perf_counter() - began, time.process_time() - cpu
    if taken.accepted != len(lines):
        raise SystemExit(f"the feed was not taken: {taken.refused[:1]}")
    return Reading(FEED, seconds, len(lines), used)


def web3_loop(arena: Arena, round_number: int) -> Reading:
    """A plain loop with web3."""
    name = f"web3-{round_number}"
    shape, bridges = arena.setup.shape, arena.setup.bridges
    database = plain(arena.cluster.empty())
    log = arena.folder / f"{name}.log"
    addresses = [_hex(each) for each in (bridges.pool, bridges.vault, bridges.bridge) if each]
    command = module(
        "bench.watching.web3_loop",
        arena.node.url(shape.chain_id, name),
        database,
        str(shape.first),
        str(shape.last),
        *addresses,
    )
    with running(command, {}, log) as child:
        start = begin(child, arena.node, [name])
        end = finish(child, lambda: child.poll() is not None, log)
        if child.returncode:
            raise SystemExit(log.read_text()[-3000:])
    with psycopg.connect(database) as connection:
        found = connection.execute("SELECT count(*) FROM logs").fetchone()
    return _reading(arena, WEB3, name, (end[0], end[1] - start), found[0] if found else 0)


def ponder(arena: Arena, round_number: int, *, lifted: bool = True) -> Reading:
    """Ponder's production server, until it says that it is ready."""
    name = f"ponder-{round_number}-{'lifted' if lifted else 'limited'}"
    shape, bridges = arena.setup.shape, arena.setup.bridges
    database = plain(arena.cluster.empty())
    log, port = arena.folder / f"{name}.log", free_port()
    folder = workshop(lifted=lifted)
    settings = {
        "BENCH_DATABASE_URL": database,
        "BENCH_RPC_URL": arena.node.url(shape.chain_id, name),
        "BENCH_FIRST_BLOCK": str(shape.first),
        "BENCH_LAST_BLOCK": str(shape.last),
        "BENCH_POOL": _hex(bridges.pool),
        "BENCH_VAULT": _hex(bridges.vault or b""),
        "BENCH_BRIDGE": _hex(bridges.bridge or b""),
        "PONDER_TELEMETRY_DISABLED": "true",
        "CI": "true",
    }
    program = str(folder / "node_modules" / "ponder" / "dist" / "esm" / "bin" / "ponder.js")
    where = ("--schema", "bench", "--port", str(port), "--hostname", "127.0.0.1")
    command = [_node(), program, "start", *where, "--log-level", "warn"]
    with running(command, settings, log, cwd=folder) as child:
        start = begin(child, arena.node, [name])
        end = finish(child, lambda: _is_ready(port), log)
    with psycopg.connect(database) as connection:
        statement = "SELECT (SELECT count(*) FROM bench.transfer) + (SELECT count(*) FROM bench.liquidity)"
        found = connection.execute(statement).fetchone()
    return _reading(
        arena,
        PONDER if lifted else PONDER_AS_IT_COMES,
        name,
        (end[0], end[1] - start),
        found[0] if found else 0,
    )


def workshop(*, lifted: bool) -> Path:
    """The project with its packages as the lock file has them, in .tmp/; other processes wait meanwhile."""
    folder = WORKSHOP / ("lifted" if lifted else "as-it-comes")
    (folder / "src" / "api").mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for source in SOURCES.rglob("*"):
            if source.is_file() and "node_modules" not in source.parts:
                shutil.copy(source, folder / source.relative_to(SOURCES))
        stamp = folder / "node_modules" / ".stamp"
        wanted = (SOURCES / "package-lock.json").read_text()
        if not stamp.exists() or stamp.read_text() != wanted:
            environment = {**os.environ, "PONDER_TELEMETRY_DISABLED": "true"}
            subprocess.run(NPM_CI, cwd=folder, env=environment, check=True, timeout=600)
            if lifted:
                _lift_limits(folder)
            stamp.write_text(wanted)
    return folder


def _lift_limits(folder: Path) -> None:
    file = folder / "node_modules" / "ponder" / "dist" / "esm" / "rpc" / "index.js"
    text = file.read_text()
    for limit in LIMITS:
        if text.count(limit) != 1:
            raise SystemExit(f"{file} has no {limit!r} any more")
        text = text.replace(limit, f"{limit.partition('=')[0]}= 1_000_000;")
    file.write_text(text)


def _node() -> str:
    found = shutil.which("node")
    if found is None or shutil.which("npm") is None:
        raise SystemExit("Ponder needs Node with npm")
    return found


def _is_ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def _reading(arena: Arena, who: str, name: str, end: tuple[float, float], found: int) -> Reading:
    if found < 0.9 * arena.setup.shape.logs:
        raise SystemExit(f"{who} kept {found} of {arena.setup.shape.logs} logs")
    asked, (done, used) = arena.node.asked()[name], end
    return Reading(who, done - asked["first"], arena.setup.shape.logs, used, asked["HTTP"])


def _hex(address: bytes) -> str:
    return "0x" + address.hex()
