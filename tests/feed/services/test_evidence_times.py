"""How long refunds took until they were claimable is counted once for each, by stage."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from app.db.engine import reading
from app.feed.services.reprojection import replay
from app.refunds.models import EvidenceCount
from app.refunds.queries import EVIDENCE_BOUNDS
from tests.actors import TESTER
from tests.feed.services.world import KEYS, about, feed, prepared, request, sent, signature, signed
from tests.gateway import Gateway

pytestmark = pytest.mark.every_database


def counted(gateway: Gateway) -> dict[tuple[str, int], tuple[int, int]]:
    """Number and milliseconds, by stage and bound."""
    with reading(gateway.engine) as connection:
        rows = connection.execute(select(EvidenceCount.__table__)).all()
    return {(row.stage, row.up_to): (row.n, row.milliseconds) for row in rows}


def claimable(gateway: Gateway, n: int, *, requested: float, signing: float) -> None:
    """A refund whose quorum is complete by the last of its signatures, in seconds from now."""
    wanted = request(n)
    feed(gateway, sent(n, at=requested - 10), prepared(n, wanted, at=requested))
    for position, key in enumerate(KEYS[:4]):
        last = signed(n, signature(wanted, key), at=signing - 4 + position)
        feed(gateway, last)


def test_the_stages_are_counted(gateway: Gateway) -> None:
    claimable(gateway, 1, requested=-200, signing=-20)
    found = counted(gateway)
    assert {stage for stage, _ in found} == {"signatures", "gateway", "whole"}
    of = {stage: (up_to, *found[stage, up_to]) for stage, up_to in found}
    assert of["whole"] == (300, 1, 200_000)
    up_to, n, signatures = of["signatures"]
    assert (up_to, n) == (300, 1)
    assert of["gateway"][1:] == (1, 200_000 - signatures)
    assert of["gateway"][0] == 30


def test_time_counts_from_served_request(gateway: Gateway) -> None:
    feed(gateway, sent(1, at=-310), prepared(1, request(1, seqnum=8), at=-300))
    claimable(gateway, 1, requested=-200, signing=-20)
    assert counted(gateway)["whole", 300] == (1, 200_000)


def test_it_is_counted_once(gateway: Gateway) -> None:
    claimable(gateway, 1, requested=-200, signing=-20)
    before = counted(gateway)
    feed(gateway, signed(1, signature(request(1), KEYS[4]), at=-5))
    replay(*gateway.audited, actor=TESTER)
    assert counted(gateway) == before
    claimable(gateway, 2, requested=-200, signing=-20)
    assert counted(gateway) == {key: (2 * n, 2 * took) for key, (n, took) in before.items()}


def test_unfinished_or_old_evidence_is_not_counted(gateway: Gateway) -> None:
    feed(gateway, sent(1), prepared(1, request(1)), signed(1, signature(request(1), KEYS[0])))
    claimable(gateway, 2, requested=-EVIDENCE_BOUNDS[-1] - 1, signing=-20)
    assert counted(gateway) == {}
    claimable(gateway, 3, requested=-EVIDENCE_BOUNDS[-1], signing=-20)
    assert counted(gateway)["whole", EVIDENCE_BOUNDS[-1]][0] == 1


def test_refund_over_within_report_is_not_counted(gateway: Gateway) -> None:
    wanted = request(1)
    events = [sent(1), prepared(1, wanted), *(signed(1, signature(wanted, key)) for key in KEYS[:4])]
    feed(gateway, *events, about(1, "refund.completed", at=-5))
    assert counted(gateway) == {}
