"""How long refunds took until they were claimable is counted once for each, by stage."""

from __future__ import annotations

import pytest
from flask import Flask
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.reprojection import replay
from app.refunds.models import EvidenceCount
from app.refunds.queries import EVIDENCE_BOUNDS
from tests.actors import TESTER
from tests.applications import Audited
from tests.feed.services.world import KEYS, feed, prepared, request, sent, signature, signed


def counted(database: Database) -> dict[tuple[str, int], tuple[int, int]]:
    """Number and milliseconds, by stage and bound."""
    with reading(database.engine) as connection:
        rows = connection.execute(select(EvidenceCount.__table__)).all()
    return {(row.stage, row.up_to): (row.n, row.milliseconds) for row in rows}


def claimable(app: Flask, n: int, *, requested: float, signing: float) -> None:
    """A refund whose quorum is complete by the last of its signatures, in seconds from now."""
    wanted = request(n)
    feed(app, sent(n, at=requested - 10), prepared(n, wanted, at=requested))
    for position, key in enumerate(KEYS[:4]):
        last = signed(n, signature(wanted, key), at=signing - 4 + position)
        feed(app, last)


def test_evidence_is_counted_by_stage(app: Flask, database: Database) -> None:
    claimable(app, 1, requested=-200, signing=-20)
    found = counted(database)
    assert {stage for stage, _ in found} == {"signatures", "gateway", "whole"}
    of = {stage: (up_to, *found[stage, up_to]) for stage, up_to in found}
    assert of["whole"] == (300, 1, 200_000)
    up_to, n, signatures = of["signatures"]
    assert (up_to, n) == (300, 1)
    assert of["gateway"][1:] == (1, 200_000 - signatures)
    assert of["gateway"][0] == 30


def test_time_counts_from_served_request(app: Flask, database: Database) -> None:
    feed(app, sent(1, at=-310), prepared(1, request(1, seqnum=8), at=-300))
    claimable(app, 1, requested=-200, signing=-20)
    assert counted(database)["whole", 300] == (1, 200_000)


@pytest.mark.every_database
def test_evidence_is_counted_once(app: Flask, database: Database, audited: Audited) -> None:
    claimable(app, 1, requested=-200, signing=-20)
    before = counted(database)
    feed(app, signed(1, signature(request(1), KEYS[4]), at=-5))
    replay(*audited, actor=TESTER)
    assert counted(database) == before
    claimable(app, 2, requested=-200, signing=-20)
    assert counted(database) == {key: (2 * n, 2 * took) for key, (n, took) in before.items()}


def test_unfinished_or_old_evidence_is_not_counted(app: Flask, database: Database) -> None:
    feed(app, sent(1), prepared(1, request(1)), signed(1, signature(request(1), KEYS[0])))
    claimable(app, 2, requested=-EVIDENCE_BOUNDS[-1] - 1, signing=-20)
    assert counted(database) == {}
    claimable(app, 3, requested=-EVIDENCE_BOUNDS[-1], signing=-20)
    assert counted(database)["whole", EVIDENCE_BOUNDS[-1]][0] == 1
