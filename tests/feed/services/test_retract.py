"""A wrong feed can be undone, the undoing too, and replay tells the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from app.db.engine import reading, writing
from app.db.models import db
from app.estimates.models import PoolCounter, ReportedFee
from app.feed.services.ingest import ingest_lines
from app.feed.services.log import export_log
from app.feed.services.reprojection import replay
from app.feed.services.retract import NothingToRetract, retract_ids, retract_reporter
from app.transfers.models import ChainProgress
from app.transfers.rules.events.event_types import EVENT_CLASSES
from tests.actors import TESTER
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    event,
    feed,
    prepared,
    projections,
    released,
    request,
    sent,
    signature,
    signed,
)
from tests.gateway import Gateway


def state(gateway: Gateway) -> dict[str, list[tuple[Any, ...]]]:
    with reading(gateway.engine) as connection:
        return projections(connection)


def retract(gateway: Gateway, *events: dict[str, Any] | str) -> list[str]:
    ids = [e if isinstance(e, str) else str(e["id"]) for e in events]
    return retract_ids(*gateway.audited, ids, "wrong", actor=TESTER)


def test_double_retraction_restores_release(gateway: Gateway, status: Callable[[int], Any]) -> None:
    release = released(1)
    feed(gateway, sent(1), release)
    before = state(gateway)
    (first,) = retract(gateway, release)
    assert status(1).status == 1
    (second,) = retract(gateway, first)
    assert status(1).status == 5
    assert state(gateway) == before
    retract(gateway, second)
    assert status(1).status == 1


def test_repeated_event_stands_after_retraction(gateway: Gateway, status: Callable[[int], Any]) -> None:
    release = released(1)
    feed(gateway, sent(1), release)
    retract(gateway, release)
    assert feed(gateway, release).accepted == 1
    assert status(1).status == 5


def test_retracted_send_takes_its_confirmations(gateway: Gateway, status: Callable[[int], Any]) -> None:
    send, confirmed = sent(1), about(1, "transfer.confirmed")
    feed(gateway, send, confirmed)
    retract(gateway, send)
    assert status(1).status == 0
    feed(gateway, send)
    assert status(1).status == 1


def test_reorganised_send_takes_no_later_confirmation(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """The later confirmation is of the send in the new block."""
    orphaned, early = sent(1), about(1, "transfer.confirmed")
    feed(gateway, orphaned, early, event("chain.reorged", chain_id=1, from_block=100))
    again, later = sent(1, at=-90, block=101), about(1, "transfer.confirmed", at=-40)
    feed(gateway, again, later)
    assert status(1).status == 3
    before = state(gateway)
    retract(gateway, orphaned)
    assert status(1).status == 3
    retract(gateway, later)
    assert status(1).status == 1, "the early confirmation fell with the send that it confirmed"
    assert before["transfers"] != state(gateway)["transfers"]
    retract(gateway, again)
    assert status(1).status == 0


def test_repeated_send_takes_its_confirmations(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """It came again after the reorganisation."""
    send = sent(1)
    feed(gateway, send, event("chain.reorged", chain_id=1, from_block=100), send)
    feed(gateway, about(1, "transfer.confirmed"))
    retract(gateway, send)
    assert status(1).status == 0


def test_retracted_reorg_restores_everything(gateway: Gateway, status: Callable[[int], Any]) -> None:
    reorg = event("chain.reorged", chain_id=1, from_block=50)
    added = event("liquidity.added", chain_id=1, symbol="USDT", amount="7", block=60)
    feed(gateway, added, sent(1))
    before = state(gateway)
    feed(gateway, reorg)
    assert status(1).status == 0
    retract(gateway, reorg)
    assert status(1).status == 1
    assert {**state(gateway), "chain_progress": []} == {**before, "chain_progress": []}


def test_pools_fees_validators_and_heads_are_undone(gateway: Gateway, status: Callable[[int], Any]) -> None:
    wd = request(1)
    key = {"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 2}
    feed(
        gateway,
        event("liquidity.added", chain_id=1, symbol="USDT", amount="7"),
        event("fee.updated", at=-9, base_fee="1", **key),
        event("chain.head", chain_id=1, block=1000),
        sent(1),
        prepared(1, wd),
        *(signed(1, signature(wd, k)) for k in KEYS[:2]),
    )
    wrong = [
        event("liquidity.added", chain_id=1, symbol="USDT", amount="900"),
        event("fee.updated", at=-8, base_fee="5", **key),
        event("chain.head", at=1, chain_id=1, block=10**12),
        event("validators.updated", chain_id=1, signers=["0x" + "99" * 20], powers=["1"]),
    ]
    before = state(gateway)
    feed(gateway, *wrong)
    assert status(1).status == 7
    retract(gateway, *wrong)
    assert status(1).status == 8
    after = state(gateway)
    for table in ("pool_counters", "fed_fees", "fed_validator_sets", "refunds", "anomalies"):
        assert after[table] == before[table], table
    with reading(gateway.engine) as connection:
        assert connection.scalar(select(ChainProgress.highest_block)) == 1000
        assert connection.scalar(select(ReportedFee.base_fee)) == 1
        assert connection.scalar(select(PoolCounter.added)) == 7


def test_a_block_too_high_is_undone(gateway: Gateway, status: Callable[[int], Any]) -> None:
    """Else every true reorg of the chain would seem too deep to be believed."""
    wrong = [sent(1, block=60_000_000), released(2, block=70_000_000)]
    feed(gateway, sent(2), released(3, block=200), sent(3), *wrong)
    reorg = event("chain.reorged", chain_id=1, from_block=90)
    assert "blocks below" in feed(gateway, reorg).refused[0].reason
    retract(gateway, *wrong)
    assert [row[:2] for row in state(gateway)["chain_progress"]] == [(1, 100), (2, 200)]
    assert feed(gateway, reorg).refused == []
    assert status(3).status != 1


def test_a_retracted_reorg_tells_no_block(gateway: Gateway) -> None:
    reorg = event("chain.reorged", chain_id=1, from_block=150)
    feed(gateway, sent(1), reorg)
    assert [row[:2] for row in state(gateway)["chain_progress"]] == [(1, 149)]
    retract(gateway, reorg)
    assert [row[:2] for row in state(gateway)["chain_progress"]] == [(1, 100)]


def test_all_of_a_token_since_a_time(gateway: Gateway, status: Callable[[int], Any]) -> None:
    feed(gateway, sent(1), sent(2), reporter="good")
    feed(gateway, released(1), released(2), reporter="bad")
    assert retract_reporter(*gateway.audited, "bad", NOW - timedelta(seconds=1), "stolen", actor=TESTER)
    assert [status(n).status for n in (1, 2)] == [1, 1]
    with pytest.raises(NothingToRetract, match="has reported nothing since"):
        retract_reporter(*gateway.audited, "bad", NOW + timedelta(seconds=1), "stolen", actor=TESTER)


def test_an_unknown_id_retracts_nothing(gateway: Gateway, status: Callable[[int], Any]) -> None:
    release = released(1)
    feed(gateway, sent(1), release)
    with pytest.raises(NothingToRetract, match="no event has the id 'nope'"):
        retract(gateway, release, "nope")
    assert status(1).status == 5


def test_a_reporter_cannot_retract(gateway: Gateway) -> None:
    line = event("events.retracted", targets=["x"], reason="y")
    refused = feed(gateway, line).refused
    assert refused[0].reason.startswith("type: must be one of")


def everything(gateway: Gateway) -> None:
    """A history with a bit of all that can happen."""
    wd = request(3)
    release, reorg = released(1, block=500), event("chain.reorged", chain_id=1, from_block=100)
    added = event("liquidity.added", chain_id=1, symbol="USDT", amount="7", block=150)
    feed(gateway, sent(1), sent(2), release, added, reorg, sent(2), released(2), added)
    feed(gateway, sent(3), prepared(3, wd), *(signed(3, signature(wd, k)) for k in KEYS[:2]))
    feed(gateway, event("fee.updated", symbol="USDT", src_chain_id=1, dst_chain_id=2, base_fee="5"))
    feed(gateway, event("chain.head", chain_id=1, block=700), released(3), reorg, sent(3), sent(1))
    feed(gateway, sent(4), about(4, "transfer.failed"), about(4, "network.status", xfer_status=3))
    (first,) = retract(gateway, released(3), released(2))
    feed(gateway, released(2))
    retract(gateway, first)


def test_replay_changes_nothing(gateway: Gateway) -> None:
    everything(gateway)
    before = state(gateway)
    assert replay(*gateway.audited, actor=TESTER) == 4
    after = state(gateway)
    assert {**after, "chain_progress": []} == {**before, "chain_progress": []}
    assert before["anomalies"]


def test_exported_log_gives_same_answers(gateway: Gateway) -> None:
    everything(gateway)
    before = state(gateway)
    lines = list(export_log(gateway.database))
    with writing(gateway.engine) as connection:
        for table in reversed(db.metadata.sorted_tables):
            if table.name not in ("chains", "tokens", "pegged_pairs", "opening_validators"):
                connection.execute(table.delete())
    verdict = ingest_lines(gateway.database, gateway.intake, lines, "cli", types=EVENT_CLASSES)
    assert verdict.refused == []
    assert {**state(gateway), "chain_progress": []} == {**before, "chain_progress": []}
