"""What a watcher costs while nothing happens, and how soon an answer knows what did."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import orjson

from bench.contenders import GUNICORN, OURS, POSTGRES, Setting, command, settings_for
from bench.serving import cpu_seconds, serving
from bench.watching.arena import node
from bench.watching.contracts import TOPICS, make
from bench.watching.databases import Cluster
from bench.watching.ours import configured, place, watcher
from bench.watching.setting import CHAIN, FIRST_IDLE, IDLE_CHAINS, idle, live, watching, watching_idle

IDLE_BAR: Final = 0.05
LIVE_BAR: Final = 0.25
POLL_SECONDS: Final = 0.5
PATIENCE_SECONDS: Final = 60.0
ASKED_EVERY: Final = 0.02
"""Seconds between two questions: asking without pause would take the processor from the watcher."""

STATUS: Final = "/v2/getTransferStatus"


@dataclass(frozen=True, slots=True)
class Idling:
    """Cores used by the watcher, and by the database beside it."""

    watcher: float
    database: float
    requests_a_second: float


def idling(cluster: Cluster, folder: Path, seconds: float) -> Idling:
    """One process that watches chains on which blocks come and nothing happens for us."""
    database, log = cluster.migrated(), folder / "idle.log"
    chain_ids = range(FIRST_IDLE, FIRST_IDLE + IDLE_CHAINS)
    variables = [f"RPC_URL_{chain_id}" for chain_id in chain_ids]
    with ExitStack() as stack:
        served = stack.enter_context(node(idle(), folder))
        gateway = stack.enter_context(configured(database, watching_idle(variables)))
        urls = {
            name: served.url(chain_id, str(chain_id))
            for name, chain_id in zip(variables, chain_ids, strict=True)
        }
        child = stack.enter_context(watcher(database, urls, log))
        end = time.monotonic() + PATIENCE_SECONDS
        while not all(_has_caught_up(place(gateway, chain_id)) for chain_id in chain_ids):
            if time.monotonic() > end or child.poll() is not None:
                raise SystemExit(f"the idle chains are not watched:\n{log.read_text()[-3000:]}")
            time.sleep(0.2)
        time.sleep(min(seconds, 10.0))  # what comes after a start is not counted
        before = _used(child, cluster), _requests(served.asked()), time.monotonic()
        time.sleep(seconds)
        after = _used(child, cluster), _requests(served.asked()), time.monotonic()
    passed = after[2] - before[2]
    return Idling(
        (after[0][0] - before[0][0]) / passed,
        (after[0][1] - before[0][1]) / passed,
        (after[1] - before[1]) / passed,
    )


def lateness(cluster: Cluster, folder: Path, samples: int) -> list[float]:
    """Seconds from a block at the node to the status of the send in it, asked over HTTP again and again."""
    database, log = cluster.migrated(), folder / "live.log"
    setup = live(1)
    block = setup.shape.last
    setting = Setting(sqlite_url="", postgres_url=database, processes=1, threads=2)
    key = (GUNICORN, OURS, POSTGRES)
    draw = random.Random(5)
    found: list[float] = []
    with ExitStack() as stack:
        served = stack.enter_context(node([setup], folder))
        document = watching(["RPC_URL_LIVE"], poll_seconds=POLL_SECONDS)
        gateway = stack.enter_context(configured(database, document))
        api = stack.enter_context(
            serving(command(key, setting), settings_for(key, setting), folder / "api.log")
        )
        connection = stack.enter_context(closing(HTTPConnection("127.0.0.1", api.port, timeout=20)))
        child = stack.enter_context(watcher(database, {"RPC_URL_LIVE": served.url(CHAIN, "live")}, log))
        end = time.monotonic() + PATIENCE_SECONDS
        while not _has_caught_up(place(gateway, CHAIN)):
            if time.monotonic() > end or child.poll() is not None:
                raise SystemExit(f"the live chain is not watched:\n{log.read_text()[-3000:]}")
            time.sleep(0.2)
        while len(found) < samples:
            block, transfer_id = _next_send(setup.shape.last, block)
            time.sleep(draw.uniform(0, POLL_SECONDS))
            served.move_head(CHAIN, block)
            found.append(_until_known(connection, transfer_id))
    return found


def p99(figures: Sequence[float]) -> float:
    """The value that 99 of 100 do not exceed."""
    return statistics.quantiles(figures, n=100, method="inclusive")[98] if len(figures) > 1 else figures[0]


def _has_caught_up(row: object) -> bool:
    return row is not None and getattr(row, "live_to", None) is not None


def _used(child: object, cluster: Cluster) -> tuple[float, float]:
    return cpu_seconds([child]), cpu_seconds([cluster.server.process])  # type: ignore[list-item]


def _requests(asked: dict[str, dict[str, float]]) -> float:
    return sum(counts["HTTP"] for counts in asked.values())


def _next_send(last: int, block: int) -> tuple[int, str]:
    """The next block whose log is a send, and the id of the transfer."""
    contracts = live(1).bridges
    while True:
        block += 1
        log = make(contracts, str(CHAIN), block - last - 1)
        if log.topic == TOPICS["Send"]:
            return block, "0x" + log.data[:32].hex()


def _until_known(api: HTTPConnection, transfer_id: str) -> float:
    began = time.monotonic()
    body = orjson.dumps({"transfer_id": transfer_id})
    while True:
        api.request("POST", STATUS, body, {"Content-Type": "application/json"})
        if orjson.loads(api.getresponse().read())["status"] != 0:
            return time.monotonic() - began
        if time.monotonic() - began > PATIENCE_SECONDS:
            raise SystemExit(f"{transfer_id} is not known after {PATIENCE_SECONDS:.0f} s")
        time.sleep(ASKED_EVERY)
