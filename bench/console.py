"""Response times of every kind of console page at a million transfers, on SQLite and on PostgreSQL.

``python -m bench.console`` fills both databases, and 20,000 records of the audit log beside the transfers,
which takes some ten minutes; ``--quick`` is a smoke run, ``--database URL`` asks one that is filled already.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psutil
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select

from app.domain.audit import Actor, AuditedChange, Source
from app.domain.operators import Role
from app.models.audit import AuditRecord
from app.models.engine import reading, writing
from app.models.transfers import Transfer, TransferAccount
from app.runtime.gateway import Gateway, current_gateway
from app.services.audit.record import record
from app.services.operators.accounts import create_account, find_account
from bench.database import gateway_on, postgres_server
from bench.duels.noise import QUIET, cores, read_clocks, share_of_others
from bench.grow import grow
from bench.synthetic_transfers import SyntheticTransfers

AT_MOST_MS: Final = 300
"""What a page may take, at the 99th percentile: above it people notice that they wait."""

RECORDS: Final = 20_000
CHAINS: Final = (1, 10, 56, 137)
"""Chains whose made-up records make their histories long."""

OPERATOR: Final = Actor("cli:bench", Source.CLI)
EMAIL: Final = "bench@example.org"
PASSWORD: Final = "only for measurements, nothing is kept"


@dataclass(slots=True)
class Measured:
    """A page: how long each visit took, in milliseconds, and what it sent."""

    name: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    """Of this process: all the work with SQLite, without the database's with PostgreSQL."""
    size: int = 0


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table for each database; 1 when a page is slower than it may be."""
    options = _options(arguments)
    missed = 0
    with ExitStack() as stack:
        for name, url, roots in _databases(options, stack):
            with gateway_on(url) as app:
                fill(current_gateway(), options.transfers, options.records)
                visited = measure(app, options.rounds, roots)
            missed += report(name, options.transfers, options.records, visited)
    return int(missed > 0 and not options.quick)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: do all parts work?")
    parser.add_argument("--transfers", type=int, default=1_000_000)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument(
        "--database",
        nargs="+",
        default=[],
        help="URLs of databases to ask and to add to; their work counts as that of others",
    )
    options = parser.parse_args(arguments)
    if options.quick:
        options.transfers, options.records, options.rounds = 2_000, 100, 2
    return options


def _databases(
    options: argparse.Namespace, stack: ExitStack
) -> Iterator[tuple[str, str, list[psutil.Process]]]:
    if options.database:
        yield from ((url.partition(":")[0], url, []) for url in options.database)
        return
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-bench-console-")))
    yield "sqlite", f"sqlite:///{folder / 'gateway.db'}", []
    database = stack.enter_context(postgres_server())
    yield "postgresql", database.url, [database.process]


def fill(gateway: Gateway, transfers: int, records: int) -> None:
    """What is missing of transfers, records and the account."""
    with reading(gateway.engine) as connection:
        empty = connection.scalar(select(Transfer.transfer_id).limit(1)) is None
    if empty:
        grow(gateway, SyntheticTransfers(transfers, gateway.clock()), actor=OPERATOR)
    with writing(gateway.engine) as connection:
        known = connection.scalar(select(func.max(AuditRecord.id))) or 0
        for number in range(known, records):
            chain = CHAINS[number % len(CHAINS)]
            # Each begins with what the last one of its chain has made.
            before, after = ({"id": chain, "block_delay": delay} for delay in (number, number + len(CHAINS)))
            change = AuditedChange(f"chain {chain}", before, after)
            at = gateway.clock() - timedelta(days=7) * (records - number) / records
            record(
                connection, gateway.audit_keys, OPERATOR, "network.edit", f"chain {chain}",
                now=at, detail=f"block delay {number + len(CHAINS)}", changes=[change],
            )  # fmt: skip
    if find_account(gateway, email=EMAIL) is None:
        create_account(gateway, EMAIL, PASSWORD, Role.ADMIN, actor=OPERATOR)


def _pages(gateway: Gateway) -> dict[str, str]:
    """Addresses by what they show. Everything that is asked for by name is in the database."""
    with reading(gateway.engine) as connection:
        some = connection.execute(select(Transfer).order_by(Transfer.transfer_id).offset(1000).limit(1)).one()
        account = connection.scalars(select(TransferAccount.account).limit(1)).one()
        last = connection.scalar(select(func.max(AuditRecord.id))) or 1
        earlier = select(Transfer.updated_at).order_by(Transfer.updated_at)
        early = connection.scalars(earlier.offset(10).limit(1)).one()
    transfer_id, sent = f"0x{some.transfer_id.hex()}", quote(early.isoformat())
    searched = {
        "a transfer id": transfer_id,
        "a transaction": some.src_tx_hash or transfer_id,
        "an explorer URL": f"https://etherscan.io/tx/{some.src_tx_hash}",
        "an account": some.sender or account,
        "a part of an id": transfer_id[:12],
        "both ends of an id": f"{transfer_id[:8]}…{transfer_id[-4:]}",
        "a token": "USDT",
        "a chain": "BNB",
        "nothing there": "0x" + "ab" * 32,
        "words": "no such thing",
    }
    lists = ("chains", "tokens", "pools", "routes", "pegged_pairs", "route_blocks", "blocked_addresses")
    return {
        "dashboard": "/admin/",
        "dashboard, refreshed": "/admin/refresh",
        "dashboard, a week": "/admin/?period=week",
        "dashboard, a month": "/admin/?period=month",
        "transfers": "/admin/transfers/",
        "transfers, a pair": "/admin/transfers/?src=1&dst=56",
        "transfers, from a chain": "/admin/transfers/?src=1",
        "transfers, to a chain": "/admin/transfers/?dst=56",
        "transfers, a rare status": "/admin/transfers/?status=9",
        "transfers, refunds of a week": "/admin/transfers/?status=all_refunds&within=7d",
        "transfers, a token, a week": "/admin/transfers/?token=WETH&within=7d",
        "transfers, until long ago": f"/admin/transfers/?until={sent}",
        "transfers, of an account": f"/admin/transfers/?account={some.sender}",
        "transfers, of an account, a token": f"/admin/transfers/?account={some.sender}&token=WETH",
        "transfers, of an account, refunds": f"/admin/transfers/?account={some.sender}&status=refunds",
        "transfers, nothing matches": "/admin/transfers/?src=56&dst=1&status=9&token=WETH",
        "stuck, the bridge": "/admin/transfers/?stuck=bridge",
        "stuck, the user": "/admin/transfers/?stuck=user",
        "a transfer": f"/admin/transfers/{transfer_id}",
        **{f"search, {kind}": f"/admin/search/?q={quote(typed)}" for kind, typed in searched.items()},
        "estimate": "/admin/estimates/?src=1&dst=56&token=USDT&amount=100&slippage=0.5",
        "anomalies": "/admin/anomalies/",
        "refund asks": "/admin/refund_asks/",
        "proposals": "/admin/proposals/",
        **{name.replace("_", " "): f"/admin/{name}/" for name in lists},
        "a pool": "/admin/pools/1",
        "a route": "/admin/routes/1",
        "validators": "/admin/validators/?chain=1",
        "watched": "/admin/watching/",
        "ingest tokens": "/admin/ingest_tokens/",
        "api keys": "/admin/api_keys/",
        "webhooks": "/admin/webhooks/",
        "operators": "/admin/operators/",
        "account": "/admin/account/",
        "stop a chain": "/admin/chains/1/stop",
        "connect a chain": "/admin/connect/?like=1",
        "audit": "/admin/audit/",
        "audit, part of a subject": "/admin/audit/?subject=56",
        "audit, part of an actor": "/admin/audit/?actor=ench",
        "audit, nothing matches": "/admin/audit/?subject=nothing",
        "an audit record": f"/admin/audit/{last}",
        "a history": "/admin/history/?subject=chain+1",
        "the configuration of a time": f"/admin/history/at?time={sent}",
        "the document": "/admin/document/",
        "transfers as CSV, first bytes": "/admin/transfers/export.csv",
        "refunds as CSV, first bytes": "/admin/transfers/export.csv?status=all_refunds&within=7d",
        "audit as CSV, first bytes": "/admin/audit/export.csv",
    }


@dataclass(frozen=True, slots=True)
class Visited:
    """All pages, and the share of all cores that others used meanwhile."""

    pages: list[Measured]
    others: float


def measure(app: Flask, rounds: int, roots: Sequence[psutil.Process]) -> Visited:
    """Visit every page in each round, so that no page always has the quieter moment.

    :param roots: the database's process, where it is not under this one.
    """
    client = _signed_in(app)
    pages = _pages(current_gateway())
    measured = {name: Measured(name) for name in pages}
    before = read_clocks(roots)
    for number in range(-1, rounds):  # the first warms up and is not counted
        for name, path in pages.items():
            _visit(client, path, measured[name], counted=number >= 0)
    return Visited(list(measured.values()), share_of_others(before, read_clocks(roots), cores()))


def _visit(client: FlaskClient, path: str, into: Measured, *, counted: bool) -> None:
    first_bytes = ".csv" in path
    wall, cpu = time.perf_counter(), time.process_time()
    answer = client.get(path, buffered=not first_bytes)
    sent = next(iter(answer.response), b"") if first_bytes else answer.data
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    answer.close()
    if answer.status_code not in (200, 302):
        raise SystemExit(f"{path} answered {answer.status_code}")
    if counted:
        into.wall.append(wall * 1000)
        into.cpu.append(cpu * 1000)
        into.size = len(sent)


def _signed_in(app: Flask) -> FlaskClient:
    client = app.test_client()
    page = client.get("/admin/sign-in").text
    token = re.search(r'name="csrf_token"[^>]* value="([^"]+)"', page)
    if token is None:
        raise SystemExit("the page of signing in has no token")
    answer = client.post(
        "/admin/sign-in", data={"csrf_token": token[1], "email": EMAIL, "password": PASSWORD}
    )
    if answer.status_code != 302:
        raise SystemExit("nobody could sign in")
    return client


def report(database: str, transfers: int, records: int, visited: Visited) -> int:
    """A line a page, the slowest first; how many are slower than they may be, on a quiet machine."""
    print(f"\n{database}, {transfers:,} transfers, {records:,} audit records, ms a page")
    print("page | least | median | p99 | processor, least | kB")
    slow = 0
    for each in sorted(visited.pages, key=lambda each: -min(each.wall)):
        p99 = sorted(each.wall)[math.ceil(0.99 * len(each.wall)) - 1]
        slow += p99 > AT_MOST_MS
        print(
            f"{each.name:<36} | {min(each.wall):>7.1f} | {statistics.median(each.wall):>7.1f} | {p99:>7.1f}"
            f" | {min(each.cpu):>7.1f} | {each.size / 1000:>6.0f}{'  SLOW' if p99 > AT_MOST_MS else ''}"
        )
    noisy = visited.others > QUIET
    print(
        f"{slow} of {len(visited.pages)} pages over {AT_MOST_MS} ms at the 99th percentile; others used "
        f"{visited.others:.0%} of the cores{': too noisy to tell' if noisy and slow else ''}"
    )
    return 0 if noisy else slow


if __name__ == "__main__":
    sys.exit(main())
