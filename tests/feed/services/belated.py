"""Reorganisations of long ago, what others reported since, and all that follows from a log."""

from __future__ import annotations

from typing import Any

from flask import Flask
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.reprojection import replay
from app.feed.verifying.comparing import Difference
from app.feed.verifying.run import verify
from app.http.application import part_of
from app.transfers.models import Event
from tests.actors import TESTER
from tests.applications import audited_of
from tests.feed.services.everything import everything, forget_projections
from tests.feed.services.world import event, released, sent

DAY = 86_400
FAR = 500_000
Line = dict[str, Any]


def reorg(from_block: int = 1000, name: str = "R", **changes: Any) -> Line:
    return event(
        "chain.reorged", name, **{"at": -30 * DAY, "chain_id": 2, "from_block": from_block} | changes
    )


def head(block: int, **changes: Any) -> Line:
    return event("chain.head", **{"at": -60, "chain_id": 2, "block": block} | changes)


def liquidity(name: str, block: int, amount: int = 7, kind: str = "added", **changes: Any) -> Line:
    pool = {"chain_id": 2, "symbol": "USDT", "amount": str(amount)}
    return event(f"liquidity.{kind}", name, at=-29 * DAY, block=block, **pool | changes)


def withdrawn(name: str, block: int, **changes: Any) -> Line:
    used = {"chain_id": 2, "withdraw_id": "0x" + "d7" * 32}
    return event("withdraw.done", name, at=-29 * DAY, block=block, **used | changes)


def rotation(name: str, block: int, member: int) -> Line:
    signers = ["0x" + f"{member:02x}" * 20]
    return event("validators.updated", name, chain_id=2, block=block, signers=signers, powers=["1"])


def others(chain: int = 2) -> list[Line]:
    """What another reporter has said since, far above."""
    return [
        *(sent(n, at=-3 * DAY, block=100) for n in (1, 2, 3)),
        *(released(n, at=-3 * DAY + 60, block=FAR + n) for n in (1, 2, 3)),
        liquidity("L", FAR),
        withdrawn("W", FAR),
        rotation("V", FAR, 9),
        head(FAR + 5000),
    ]


def answers(app: Flask) -> dict[str, list[tuple[Any, ...]]]:
    """All that follows from the log, which a replay from nothing tells as well."""
    database = part_of(app, Database)
    before = everything(database)
    told: list[Difference] = []
    verify(database, told.append)
    assert not told, [str(each) for each in told]
    replay(*audited_of(app), actor=TESTER)
    assert everything(database) == before
    return before


def from_nothing(app: Flask) -> None:
    """The log that is left tells the same."""
    database = part_of(app, Database)
    before = everything(database)
    forget_projections(database)
    replay(*audited_of(app), actor=TESTER)
    assert everything(database) == before


def log(database: Database) -> list[tuple[str, int]]:
    with reading(database.engine) as connection:
        rows = connection.execute(select(Event.event_id, Event.occurrence).order_by(Event.seq))
        return [(row.event_id, row.occurrence) for row in rows]
