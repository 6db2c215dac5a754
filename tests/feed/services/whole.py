"""A log with something of everything, what is stored of it, and whether that follows from it."""

from __future__ import annotations

from typing import Any

from flask import Flask
from sqlalchemy import insert, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.services.retract import retract_ids
from app.feed.verifying.run import verify
from app.http.application import part_of
from app.latency.models import LatencyCount
from app.network.models import Pool
from tests.actors import TESTER
from tests.applications import audited_of
from tests.feed.services.any_order import EVERYTHING, REORGS, members
from tests.feed.services.everything import everything
from tests.feed.services.world import (
    KEYS,
    about,
    event,
    feed,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
)

LATENCIES = (LatencyCount,)


def differing(database: Database) -> list[str]:
    """What differs, in words."""
    found: list[str] = []
    verify(database, lambda difference: found.append(str(difference)))
    return found


def full(app: Flask) -> None:
    """Something of everything."""
    wd = request(5, seqnum=99)
    with writing(part_of(app, Database).engine) as connection:
        empty = dict.fromkeys(
            ("liquidity_added", "liquidity_sent", "liquidity_relayed", "liquidity_withdrawn"), 0
        )
        connection.execute(
            insert(Pool).values(
                chain_id=3, symbol="USDT", total_cap=None, epoch_cap=None, epoch_seconds=1, **empty
            )
        )
    feed(app, *EVERYTHING, *REORGS)
    feed(app, *EVERYTHING)
    feed(
        app,
        *(each for n in (10, 11, 12) for each in (sent(n), released(n, at=-10 - n))),
        event("validators.updated", "now", at=-1, chain_id=1, block=300, **members(0, 1, 2, 3)),
        sent(5),
        prepared(5, wd),
        *(signed(5, signature(wd, key)) for key in KEYS[:4]),
        signed(5, signature(wd, KEYS[0]), at=-29),
        sent(6, src_chain_id=3),
        about(6, "refund.completed"),
        event("liquidity.withdrawn", chain_id=3, symbol="USDT", amount="5"),
        event("liquidity.added", "wrong", chain_id=1, symbol="USDT", amount="5"),
    )
    retract_ids(*audited_of(app), ["wrong"], "wrong", actor=TESTER)


def stored(database: Database) -> dict[str, Any]:
    """Every projection, and what else is compared, as it is stored."""
    found: dict[str, Any] = everything(database)
    with reading(database.engine) as connection:
        for model in LATENCIES:
            found[model.__tablename__] = sorted(map(tuple, connection.execute(select(model.__table__))))
    return found
