"""Fill an empty database with millions of transfers in minutes, as if their events had been reported.

Only the rows that follow from events are written, not the events: a database for measurements, without a log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import orjson
from sqlalchemy import Connection, Table, insert

from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor
from app.audit.services import record
from app.db.database import Database
from app.db.engine import writing
from app.estimates.models import PoolVolume
from app.feed.lines import ReadLine, read_line
from app.feed.models import GrownDatabase, TransferBlock
from app.feed.projection.journal import Place, Step
from app.feed.projection.latencies import recount
from app.feed.projection.shared import advance, apply_shared
from app.feed.projection.transfers import project, publish_nothing
from app.latency.models import LatencyRecord
from app.network.document import import_within, read_document
from app.network.queries import load_network_facts
from app.network.rules.pools import PoolCounters
from app.sandbox.catalogue import network_document
from app.sandbox.services import SandboxRefused
from app.transfers.models import Refund, Transfer, TransferAccount, TransferHash
from app.transfers.queries.logged import is_empty
from app.transfers.rules.events.canonical import ChainReading
from app.transfers.rules.events.counting import Logged
from app.transfers.rules.events.event_types import TransferEvent
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.sums import SharedChange, TrendKey, Trends
from app.values.identifiers import BlockNumber, ChainId, PoolKey, TransferId, account_key
from app.values.times import from_unix_microseconds
from bench.bulk import HEX, NULL, Row, fill, without_indexes
from bench.synthetic_transfers import (
    SyntheticRoute,
    SyntheticTransfer,
    SyntheticTransfers,
    events_of,
    senders,
    synthetic_routes,
)

CHUNK: Final = 20_000
"""Transfers whose rows are held in memory at a time."""

PROJECTED: Final = 500
"""Transfers that are projected from their events at a time."""

_MICROSECONDS: Final = 1_000_000
_MINUTE: Final = 60 * _MICROSECONDS
_HOUR: Final = 60 * _MINUTE


def grow(
    database: Database,
    audit_keys: AuditKeys,
    transfers: SyntheticTransfers,
    *,
    actor: Actor,
    progress: Callable[[int], None] = lambda _transfers: None,
) -> None:
    """Load the sandbox's network and so many transfers into an empty database, in one transaction.

    The rows are those that ingesting ``events_of`` each transfer would lead to. The database is marked:
    commands that work on the log refuse it from then on.

    :param progress: called after each chunk with its number of transfers.
    :raises SandboxRefused: when the database holds anything.
    """
    with writing(database.engine) as connection:
        if not is_empty(connection):
            raise SandboxRefused(
                "the database is not empty; transfers are made up in an empty one only "
                "(set DATABASE_URL to a new database)"
            )
        now = database.clock()
        import_within(connection, read_document(orjson.dumps(network_document())), now)
        mark = {"id": 1, "transfers": transfers.count, "grown_at": now}
        connection.execute(insert(GrownDatabase).values(mark))
        unusual = _write_completed(connection, transfers, now, progress)
        facts = load_network_facts(connection)
        publish_nothing(connection, now)  # nobody follows statuses of a database that was just made
        place = Place.now(connection)
        for start in range(0, len(unusual), PROJECTED):
            chunk = unusual[start : start + PROJECTED]
            steps = [[Step(place, _history(transfer, now))] for transfer in chunk]
            project(connection, steps, facts, now)
            progress(len(chunk))
        recount(connection, database.clock())  # minutes later
        made_up = f"{transfers.count} transfers made up"
        record(connection, audit_keys, actor, "sandbox.grow", "sandbox", now=now, detail=made_up)
    _tidy(database)


def _write_completed(
    connection: Connection, transfers: SyntheticTransfers, now: datetime, progress: Callable[[int], None]
) -> list[SyntheticTransfer]:
    """Write the completed ones; returns the others, whose events must be projected."""
    unusual: list[SyntheticTransfer] = []
    models = (Transfer, TransferAccount, TransferBlock, TransferHash, LatencyRecord, Refund)
    tables = [model.__table__ for model in models]
    rows = CompletedRows()
    # The next rows are made while the database takes the last: only one thread at a time uses the connection.
    with without_indexes(connection, tables), ThreadPoolExecutor(1) as writer:  # type: ignore[arg-type]
        written = writer.submit(int)
        for transfer in transfers:
            if not transfer.usual:
                unusual.append(transfer)
                continue
            rows.add(transfer)
            if len(rows.latencies) == CHUNK:
                progress(written.result())
                written = writer.submit(_insert, connection, rows.take())
        progress(written.result())
        progress(_insert(connection, rows.take()))
    advance(connection, rows.readings())
    change = rows.change()
    volumes = ["\t".join(map(str, (*key, amount))) + "\n" for key, amount in change.volumes.items()]
    fill(connection, PoolVolume.__table__, volumes)  # type: ignore[arg-type]  # a row a minute: too many one by one
    change.volumes.clear()
    apply_shared(connection, change, now)
    return unusual


Batch = list[tuple[Table, list[Row]]]
"""Rows for some tables, the parents first."""


def _insert(connection: Connection, batch: Batch) -> int:
    """Insert them. Returns how many transfers there were."""
    for table, rows in batch:
        fill(connection, table, rows, emptied=True)
    return len(batch[0][1])


@dataclass(slots=True)
class CompletedRows:
    """Rows of completed transfers in the making, and the sums that they share."""

    transfers: list[Row] = field(default_factory=list)
    accounts: list[Row] = field(default_factory=list)
    blocks: list[Row] = field(default_factory=list)
    latencies: list[Row] = field(default_factory=list)
    newest: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Highest block and newest time of each chain."""
    sent: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    """Amounts by series and minute, of which pools and their volumes are the sums."""
    relayed: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    trends: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    """Their number, what they sent, and what was received of it, by series and hour."""
    seconds: dict[int, str] = field(default_factory=dict)
    synthetic_routes: Sequence[SyntheticRoute] = field(default_factory=synthetic_routes)
    senders: Sequence[str] = field(default_factory=senders)
    account_keys: dict[str, str] = field(default_factory=lambda: {key: account_key(key) for key in senders()})

    def add(self, transfer: SyntheticTransfer) -> None:
        """Compute the rows of one; columns in the order of the tables'."""
        route, digest, sent_us = self.synthetic_routes[transfer.route], transfer.digest, transfer.start
        released_us = sent_us + transfer.latency
        sent, released = self._text(sent_us), self._text(released_us)
        amount = route.unit * (1 + transfer.draw % 99)
        sender = self.senders[transfer.draw % len(self.senders)]
        paid, relayed = _scaled_down(amount, route), NULL
        if route.is_pool:
            relayed = str(paid)
            self.sent[transfer.route, sent_us // _MINUTE] += amount
            self.relayed[transfer.route] += paid
        trend = self.trends[transfer.route, sent_us // _HOUR]
        trend[0] += 1
        trend[1] += amount
        trend[2] += paid
        src, dst, key = route.src_chain_id, route.dst_chain_id, HEX + digest
        src_block = route.src_height + sent_us // route.src_period
        dst_block = route.dst_height + released_us // route.dst_period
        self.transfers.append(
            f"{key}\t5\t0\t{released}\t{route.kind}\t{src}\t{dst}\t{route.symbol}\t{NULL}\t{amount}\t"
            f"{sender}\t{sender}\t{NULL}\t0x{digest[::-1]}\t0x{digest[32:]}{digest[:32]}\t{sent}\t{released}\t"
            f"{relayed}\t{released}\t{sent}\t{paid}\t{dst_block}\n"
        )
        self.accounts.append(f"{self.account_keys[sender]}\t{sent_us // 1000}\t{key}\n")
        self.blocks.append(f"{key}\t{src}\t{src_block}\n")
        self.blocks.append(f"{key}\t{dst}\t{dst_block}\n")
        self.latencies.append(f"{key}\t{src}\t{dst}\t{released}\t{transfer.latency}\n")
        self._read(src, src_block, sent_us)
        self._read(dst, dst_block, released_us)

    def take(self) -> Batch:
        """The rows so far, which are removed here; the sums stay."""
        taken = [
            (Transfer.__table__, self.transfers),
            (TransferAccount.__table__, self.accounts),
            (TransferBlock.__table__, self.blocks),
            (LatencyRecord.__table__, self.latencies),
        ]
        self.transfers, self.accounts, self.blocks, self.latencies = [], [], [], []
        return taken  # type: ignore[return-value]

    def readings(self) -> dict[ChainId, ChainReading]:
        return {
            ChainId(int(chain_id)): ChainReading(BlockNumber(block), from_unix_microseconds(at))
            for chain_id, (block, at) in self.newest.items()
        }

    def change(self) -> SharedChange:
        """The growth of the pools' counters and volumes and of the hourly sums."""
        change = SharedChange()
        for (number, minute), amount in self.sent.items():
            route = self.synthetic_routes[number]
            pool = PoolKey(ChainId(int(route.src_chain_id)), route.symbol)
            change.counters[pool] += PoolCounters(sent=amount)
            change.volumes[*pool, minute] += amount
        for number, amount in self.relayed.items():
            route = self.synthetic_routes[number]
            pool = PoolKey(ChainId(int(route.dst_chain_id)), route.symbol)
            change.counters[pool] += PoolCounters(relayed=amount)
        for (number, hour), (count, amount, received) in self.trends.items():
            route = self.synthetic_routes[number]
            ends = ChainId(int(route.src_chain_id)), ChainId(int(route.dst_chain_id))
            change.trends[TrendKey(hour, route.kind, *ends, route.symbol)].add(
                Trends(begun=count, completed=count, sent=amount, paid_for=amount, received=received)
            )
        return change

    def _text(self, microseconds: int) -> str:
        """A time as both databases read it. The second is cached, as many transfers share it."""
        second, fraction = divmod(microseconds, _MICROSECONDS)
        text = self.seconds.get(second)
        if text is None:
            text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M:%S.")
            self.seconds[second] = text
        return f"{text}{fraction:06}"

    def _read(self, chain_id: str, block: int, at: int) -> None:
        known = self.newest.get(chain_id, (0, 0))
        if block > known[0] or at > known[1]:
            self.newest[chain_id] = max(block, known[0]), max(at, known[1])


def _scaled_down(amount: int, route: SyntheticRoute) -> int:
    """A source amount in destination units, rounded down."""
    more = route.dst_decimals - route.src_decimals
    scaled: int = amount * 10**more if more >= 0 else amount // 10**-more
    return scaled


def _history(transfer: SyntheticTransfer, now: datetime) -> TransferHistory:
    """The log that its events would leave, in the form in which the feed reads them."""
    log: list[Logged[TransferEvent]] = []
    for number, reported in enumerate(events_of(transfer), start=1):
        read = read_line(number, orjson.dumps(reported), now)
        if not isinstance(read, ReadLine) or not isinstance(read.event, TransferEvent):
            raise RuntimeError(f"the sandbox contradicts the gateway: {read}")
        log.append(Logged(number, read.event))
    return TransferHistory(TransferId(bytes.fromhex(transfer.digest)), log)


def _tidy(database: Database) -> None:
    """Vacuum PostgreSQL now, so that autovacuum does not run during a measurement."""
    if database.engine.dialect.name == "postgresql":
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM (ANALYZE)")
