"""What a watcher reads of chain 1 of the small network, and a clock that tests move."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from flask import Flask
from msgspec.structs import replace
from sqlalchemy import update

from app.db.database import Database
from app.db.engine import writing
from app.feed.services.ingest import Intake
from app.http.application import part_of
from app.network.models import Chain, NetworkPart
from app.transfers.rules.events.event_types import ChainHead, ChainReorged, TransferSent
from app.values.codes import SendKind
from app.values.identifiers import BlockNumber, ChainId, TransferId
from app.watcher.rules.blocks import BlockId, Header
from app.watcher.rules.steps import Missed, Span, SpanState, Step
from app.watcher.services.advance import advance
from app.watcher.services.lease import Lease, note_fault, take
from tests.feed.services.world import NOW, SENDER

CHAIN = ChainId(1)
URL_A, URL_B = "RPC_URL_A", "RPC_URL_B"


def block_hash(number: int, fork: int = 0) -> str:
    """The hash of a made-up block."""
    return f"0x{fork:032x}{number:032x}"


def header(number: int, fork: int = 0) -> Header:
    """A made-up header."""
    return Header(BlockNumber(number), block_hash(number, fork), block_hash(number - 1, fork), NOW)


def block(number: int, fork: int = 0) -> BlockId:
    """A made-up block."""
    return header(number, fork).id


def span(first: int, last: int, state: SpanState = SpanState.READ, source: str = URL_A) -> Span:
    """A span with the digest of its ends."""
    digest = bytes([first % 256, last % 256])
    return Span(BlockNumber(first), BlockNumber(last), 1, digest, source, state)


def head_event(number: int, fork: int = 0) -> ChainHead:
    """``chain.head``."""
    event_id = f"1:{block_hash(number, fork)}:head"
    return ChainHead(
        id=event_id, at=NOW, chain_id=CHAIN, block=BlockNumber(number), block_hash=block_hash(number, fork)
    )


def reorg_event(from_block: int, event_id: str = "reorg") -> ChainReorged:
    """``chain.reorged``."""
    return ChainReorged(id=event_id, at=NOW, chain_id=CHAIN, from_block=BlockNumber(from_block))


def sent_event(n: int, number: int = 100, **changes: Any) -> TransferSent:
    """A pool send from chain 1 to chain 2."""
    values: dict[str, Any] = {
        "id": f"1:{block_hash(number)}:0x{n:064x}:0",
        "at": NOW - timedelta(seconds=100),
        "transfer_id": TransferId(n.to_bytes(32, "big")),
        "kind": SendKind.POOL,
        "src_chain_id": CHAIN,
        "dst_chain_id": ChainId(2),
        "symbol": "USDT",
        "amount": 1_000_000_000,
        "sender": SENDER,
        "receiver": SENDER,
        "src_tx_hash": f"0x{n:064x}",
        "block": BlockNumber(number),
        "block_hash": block_hash(number),
        "log_index": 0,
    }
    return TransferSent(**(values | changes))


def step(**values: Any) -> Step:
    """A step that was read now."""
    usual: dict[str, Any] = {"at": NOW, "source": URL_A}
    return Step(**usual | values)


def watch_a_chain(app: Flask) -> Lease:
    """Chain 1 is watched, half of its backfill is done, one reread differed, and one URL failed."""
    database = part_of(app, Database)
    with writing(database.engine) as connection:
        values = {"watch_from_block": 1, "rpc": [URL_A, URL_B]}
        connection.execute(update(Chain).where(Chain.chain_id == CHAIN).values(**values))
        connection.execute(update(NetworkPart).values(version=NetworkPart.version + 1))
    lease = take(database, CHAIN, "host 1", 3600)
    assert lease is not None
    now = database.clock()
    read = step(
        at=now,
        events=[replace(head_event(21_000_118), at=now)],
        backfill_from=1,
        backfilled_to=500,
        live_from=1001,
        live_to=block(21_000_118),
        head=replace(header(21_000_120), at=now),
        calls=7,
        spans=[span(1, 500, SpanState.PROVEN)],
        missed=[Missed(BlockNumber(11), BlockNumber(40), 2, 0, URL_A, URL_B)],
    )
    advance(database, part_of(app, Intake), lease, read)
    note_fault(database, lease, "it answered 429 and asks for 30 s", URL_B)
    return lease
