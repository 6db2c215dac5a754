"""What the database selects as canonical is what the whole log gives, in any history."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection
from contextlib import suppress
from itertools import groupby
from typing import Any, cast

import pytest
from flask import Flask
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import Connection, select, update

from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import PoolCounter
from app.feed.queries.pools import LIQUIDITY, canonical_liquidity, load_liquidity
from app.feed.services.ingest import Intake
from app.feed.services.retract import NothingToRetract, retract_ids
from app.network.rules.pools import PoolCounters
from app.refunds.queries import load_histories
from app.transfers.models import Event
from app.transfers.queries.logged import retracted_keys
from app.transfers.rules.events.canonical import canonical_of_transfer
from app.transfers.rules.events.codec import decode_event
from app.transfers.rules.events.counting import Logged
from app.transfers.rules.events.event_types import ChainReorged, LiquidityAdded, LiquidityWithdrawn
from app.transfers.rules.events.keys import EventKey, subject_of_chain
from app.transfers.rules.events.reorganisations import Reorg
from app.values.identifiers import ChainId
from tests.actors import TESTER
from tests.amounts import costly
from tests.applications import audited_of, change_part
from tests.feed.services.world import about, event, feed, forget_events, id_of, sent

HUGE = 2**255
KINDS = ("added", "withdrawn", "reorg")


@st.composite
def lines(draw: st.DrawFn) -> dict[str, Any]:
    """One line about chain 1 or 2.

    An id names the content of its event, so that an event that comes again is the same. Blocks are few, so
    that reorgs hit. Without a block is the event of block 0.
    """
    chain, block = draw(st.sampled_from([1, 1, 2])), draw(st.integers(0, 4))
    kind = draw(st.sampled_from([*KINDS, *KINDS, "sent", "confirmed", "retracted"]))
    at = {"block": block} if block else {}
    match kind:
        case "added" | "withdrawn":
            fields: dict[str, Any] = {
                "symbol": "USDT" if block % 2 else "CELR",
                "amount": str(HUGE + block),
            } | at
            line = event(f"liquidity.{kind}", chain_id=chain, **fields)
        case "reorg":
            line = event("chain.reorged", chain_id=chain, from_block=block + 1)
        case "sent":
            line = sent(1, block=block + 1)
        case "confirmed":
            line = about(1, "transfer.confirmed", **at)
        case _:
            return {"retract": f"{draw(st.sampled_from(KINDS))}-{block}", "subject": f"chain:{chain}"}
    return line | {"id": f"{kind}-{block}"}


def deposit(block: int) -> dict[str, Any]:
    """A deposit of the first chain."""
    fields: dict[str, Any] = {"symbol": "USDT", "amount": str(HUGE), "block": block}
    return event("liquidity.added", chain_id=1, **fields) | {"id": f"added-{block}"}


def reorg(block: int) -> dict[str, Any]:
    """A reorganisation of the first chain from this block."""
    return event("chain.reorged", chain_id=1, from_block=block) | {"id": f"reorg-{block}"}


@pytest.mark.every_database
@example(reported=[deposit(3), reorg(3), deposit(3)], batch=1)
@example(reported=[deposit(2), deposit(3), reorg(3), reorg(4)], batch=1)
@example(reported=[deposit(3), reorg(2), {"retract": "reorg-2", "subject": "chain:1"}], batch=1)
@example(reported=[sent(1, block=3) | {"id": "sent-3"}, reorg(3), reorg(4)], batch=1)
@costly
@given(reported=st.lists(lines(), min_size=12, max_size=40), batch=st.integers(1, 12))
def test_canonical_events_match_whole_log(
    app: Flask, database: Database, reported: list[dict[str, Any]], batch: int
) -> None:
    forget_events(app)
    happen(app, reported, batch)
    compare(database)


@example(first=[deposit(2), deposit(3), reorg(2)], again=[deposit(3), reorg(2)], batch=1)
@example(first=[deposit(2), reorg(2), deposit(3)], again=[deposit(2), reorg(2), deposit(2)], batch=9)
@example(
    first=[sent(1, block=3) | {"id": "sent-3"}, reorg(3), sent(1, block=4) | {"id": "sent-4"}],
    again=[sent(1, block=3) | {"id": "sent-3"}, reorg(3), about(1, "transfer.confirmed")],
    batch=2,
)
@costly
@given(
    first=st.lists(lines(), min_size=6, max_size=25),
    again=st.lists(lines(), min_size=6, max_size=25),
    batch=st.integers(1, 12),
)
def test_canonical_events_match_with_belated_reorgs(
    app: Flask, database: Database, first: list[dict[str, Any]], again: list[dict[str, Any]], batch: int
) -> None:
    """The chains were read so far meanwhile that no reorg from before would be believed if it were new."""
    change_part(app, Intake, max_reorg_blocks=2)
    forget_events(app)
    happen(app, first, batch)
    happen(app, [event("chain.head", f"far-{n}", chain_id=n, block=100) for n in (1, 2)], batch)
    happen(app, again, batch)
    compare(database)


def happen(app: Flask, reported: list[dict[str, Any]], batch: int) -> None:
    """Feed the lines, and retract what others of them name."""
    for retraction, group in groupby(reported, key=lambda line: "retract" in line):
        some = list(group)
        if retraction:
            for line in some:
                with suppress(NothingToRetract):
                    retract_ids(
                        *audited_of(app), [line["retract"]], "wrong", actor=TESTER, subject=line["subject"]
                    )
        else:
            for start in range(0, len(some), batch):
                feed(app, *some[start : start + batch])


def every_reorg(connection: Connection, chain_ids: Collection[int], after_seq: int) -> list[Reorg]:
    """Every canonical reorg of the chains that was accepted after a position in the log."""
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.chain_id, Event.block, Event.body)
        .where(Event.type == ChainReorged.type)
        .where(Event.chain_id.in_(chain_ids))
        .order_by(Event.seq)
    ).all()
    keys = [EventKey(subject_of_chain(row.chain_id), row.event_id) for row in rows]
    retracted = retracted_keys(connection, dict.fromkeys(keys))
    first: dict[EventKey, int] = {}
    found: list[Reorg] = []
    for key, row in zip(keys, rows, strict=True):
        if row.seq <= retracted.get(key, 0):
            continue
        if row.block is not None:
            found.append(Reorg(row.seq, row.chain_id, row.block))
            first.setdefault(key, row.seq)
        else:
            from_block = json.loads(row.body)["from_block"]
            found.append(Reorg(row.seq, row.chain_id, from_block, first.get(key, 0)))
    return [reorg for reorg in found if reorg.seq > after_seq]


def liquidity(connection: Connection, chain_id: ChainId) -> dict[str, PoolCounters]:
    """The sums of the chain's canonical liquidity events, by symbol."""
    rows = connection.execute(
        select(Event.seq, Event.event_id, Event.type, Event.body)
        .where(Event.chain_id == chain_id, Event.type.in_(LIQUIDITY))
        .order_by(Event.seq)
    )
    first: dict[str, int] = {}
    latest: dict[str, Logged[LiquidityAdded | LiquidityWithdrawn]] = {}
    for row in rows:
        event = cast("LiquidityAdded | LiquidityWithdrawn", decode_event(row.event_id, row.type, row.body))
        first.setdefault(event.id, row.seq)
        latest[event.id] = Logged(row.seq, event, first=first[event.id])
    reorgs = every_reorg(connection, {chain_id}, 0)
    retracted = retracted_keys(connection, [logged.event.key for logged in latest.values()])
    sums: dict[str, PoolCounters] = defaultdict(PoolCounters)
    for logged in latest.values():
        event, is_retracted = logged.event, logged.seq <= retracted.get(logged.event.key, 0)
        if is_retracted or any(r.reaches(chain_id, event.block, logged) for r in reorgs):
            continue
        added = isinstance(event, LiquidityAdded)
        counted = PoolCounters(added=event.amount) if added else PoolCounters(withdrawn=event.amount)
        sums[event.symbol] += counted
    return sums


def compare(database: Database) -> None:
    """Compare what the database selects with what the whole log gives, and the stored sums."""
    with reading(database.engine) as connection:
        for chain in (ChainId(1), ChainId(2)):
            expected = {name: sums for name, sums in liquidity(connection, chain).items() if sums}
            assert canonical_liquidity(connection, chain) == expected
            columns = (PoolCounter.symbol, PoolCounter.added, PoolCounter.withdrawn)
            rows = connection.execute(select(*columns).where(PoolCounter.chain_id == chain))
            stored = {row[0]: PoolCounters(added=row[1], withdrawn=row[2]) for row in rows}
            assert {name: sums for name, sums in stored.items() if sums} == expected
        ids = [id_of(1)]
        reorgs = every_reorg(connection, {1, 2}, 0)
        for history in load_histories(connection, ids).values():
            whole = replace(history, reorgs=reorgs)
            origin = history.origin()
            found = canonical_of_transfer(history.counted(), history.reorgs, origin)
            assert found == canonical_of_transfer(whole.counted(), whole.reorgs, origin)


def added(database: Database) -> int:
    """What providers have added to the first chain's pool of USDT."""
    with reading(database.engine) as connection:
        return load_liquidity(connection, ChainId(1)).get("USDT", PoolCounters()).added


def test_reorg_reads_no_events_below(app: Flask, database: Database) -> None:
    """It read the chain's whole log: nine seconds at a million events, while every other writer waited."""
    feed(app, *(deposit(block) for block in (1, 2, 3, 9, 10)))
    with writing(database.engine) as connection:
        connection.execute(update(Event).where(Event.block < 9).values(body="not to be read"))
    assert feed(app, reorg(9)).accepted == 1
    assert added(database) == 3 * HUGE
    assert feed(app, deposit(9)).accepted == 1
    assert feed(app, reorg(10), reorg(9) | {"id": "once more"}).accepted == 2
    assert added(database) == 3 * HUGE
