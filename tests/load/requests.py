"""The load of benchmarks and long tests: the sandbox, completed transfers, and requests about them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import orjson
from flask import Flask
from sqlalchemy import select, text

from app.audit.rules.records import Actor, Source
from app.db.database import Database
from app.db.engine import reading
from app.feed.services.ingest import Intake, ingest_lines
from app.http.application import part_of
from app.sandbox.feed import SERIES
from app.sandbox.services import load_sandbox
from app.sandbox.transfer_builder import TransferBuilder
from app.transfers.models import Transfer
from app.values.crypto import keccak256
from tests.applications import audited_of

WEEK = timedelta(days=7)
OPERATOR = Actor("cli:bench", Source.CLI)
TRANSFERS = 10_000
SENDS = tuple(series.typical for series in SERIES[:5])
"""Five pairs of chains, so each has a fifth of the transfers."""

ESTIMATES = (
    (1, 56, "USDT", 10**6),
    (42161, 43114, "USDT", 10**6),
    (1, 42161, "USDC", 10**6),
    (250, 42161, "USDC", 10**6),
    (1, 8453, "WETH", 10**15),
    (42161, 1, "WETH", 10**15),
)
"""Pool routes of the sandbox, at fixed rates and over curves, with and without an epoch cap, and a unit.
Pegged routes would flatter: they need no database."""


def fill(app: Flask, count: int = TRANSFERS) -> None:
    """Load the sandbox and, through the feed, so many completed transfers of the last seven days."""
    database = part_of(app, Database)
    load_sandbox(*audited_of(app), part_of(app, Intake), actor=OPERATOR)
    feed(app, _events(count, database.clock()))
    with reading(database.reads) as connection:
        # What a database does by itself within a minute or so: know how many rows there are of what.
        connection.execute(text("VACUUM"))
        connection.execute(text("ANALYZE"))


def feed(app: Flask, lines: Iterable[bytes]) -> None:
    """Report these events."""
    verdict = ingest_lines(part_of(app, Database), part_of(app, Intake), lines, "bench")
    if verdict.refused:
        raise SystemExit(f"the feed was not taken: {verdict.refused[0]}")


def _events(count: int, now: datetime) -> Iterator[bytes]:
    for n in range(count):
        noise = keccak256(b"bench %d" % n)
        latency = timedelta(microseconds=60_000_000 + int.from_bytes(noise[:6], "big") % 1_200_000_000)
        start = now - WEEK + timedelta(hours=1) + n * (WEEK - timedelta(hours=2)) / count
        transfer = TransferBuilder("0x" + noise.hex(), SENDS[n % len(SENDS)], start)
        yield from map(orjson.dumps, transfer.sent().released(latency).events)


@dataclass(frozen=True, slots=True)
class Request:
    """One request: ``GET`` without a body, else ``POST`` with a JSON document."""

    path: str
    body: str = ""

    @property
    def method(self) -> str:
        """The request's method."""
        return "POST" if self.body else "GET"

    def line(self) -> str:
        """As wrk.lua reads it."""
        return f"{self.method}\t{self.path}\t{self.body}\n"


def write_requests(requests: list[Request], file: Path) -> Path:
    """Write them for wrk.lua, one a line; returns the file."""
    file.write_text("".join(request.line() for request in requests), encoding="ascii")
    return file


def transfer_ids(database: Database) -> list[str]:
    """Every id there is, in lower case with 0x."""
    with reading(database.reads) as connection:
        return ["0x" + key.hex() for key in connection.scalars(select(Transfer.transfer_id))]


def status_requests(ids: list[str]) -> list[Request]:
    """One request for the status of each of these transfers."""
    return [Request("/v2/getTransferStatus", f'{{"transfer_id":"{key}"}}') for key in ids]


def estimate_requests(count: int = 2_000) -> list[Request]:
    """So many estimates of random amounts, over every route of ``ESTIMATES``."""
    draw = random.Random(2)
    return [_estimate(*ESTIMATES[n % len(ESTIMATES)], draw.randint(5_000, 900_000)) for n in range(count)]


def _estimate(src: int, dst: int, symbol: str, unit: int, thousandths: int) -> Request:
    return Request(
        f"/v2/estimateAmt?src_chain_id={src}&dst_chain_id={dst}&token_symbol={symbol}"
        f"&amt={unit * thousandths // 1000}&slippage_tolerance=3000"
        "&usr_addr=0x2d5bc0a1a3b0e5bd0a4a2b7b1f0e5b0a4a2b7b1f"
    )


def latency_requests() -> list[Request]:
    """One request for the latency of each pair of chains that has transfers."""
    return [
        Request(
            "/v2/getLatest7DayTransferLatencyForQuery"
            f"?src_chain_id={details.src_chain_id}&dst_chain_id={details.dst_chain_id}"
        )
        for details in SENDS
    ]
