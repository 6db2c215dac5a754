"""What a reorganisation or a retraction takes back, and how it comes again; a replay gives the same."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import PoolCounter, ReportedFee
from app.feed.services.ingest import Intake, ingest_lines
from app.feed.services.log import export_log
from app.feed.services.retract import NothingToRetract, retract_ids, retract_reporter
from app.latency.models import LatencyRecord
from app.transfers.models import ChainProgress, Event
from app.transfers.rules.events.event_types import EVENT_CLASSES
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import address_of, checksum_address
from tests.actors import TESTER
from tests.applications import Audited, audited_of
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    event,
    feed,
    forget_events,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
    state,
)

UNRELATED = 56
"""A chain that no transfer of this module crosses."""


def reorg(from_block: int, chain_id: int = 1, **changes: Any) -> dict[str, Any]:
    return event("chain.reorged", chain_id=chain_id, from_block=from_block, **changes)


def counter(database: Database, chain_id: int = 1) -> tuple[int, ...]:
    with reading(database.engine) as connection:
        columns = (PoolCounter.added, PoolCounter.sent, PoolCounter.relayed, PoolCounter.withdrawn)
        row = connection.execute(select(*columns).where(PoolCounter.chain_id == chain_id)).first()
        return tuple(row) if row else (0, 0, 0, 0)


def test_reorg_orphans_send_with_confirmations(
    app: Flask, database: Database, status: Callable[[int], Any]
) -> None:
    send, confirmed = sent(1), about(1, "transfer.confirmed")
    feed(app, send, confirmed)
    assert status(1).status == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION
    assert counter(database) == (0, 1_000_000_000, 0, 0)
    feed(app, reorg(100))
    assert status(1).status == Status.TRANSFER_UNKNOWN
    assert status(1).src_tx_hash is None
    assert counter(database) == (0, 0, 0, 0)
    verdict = feed(app, send)
    assert (verdict.accepted, verdict.repeated) == (1, 0)
    assert status(1).status == Status.TRANSFER_SUBMITTING
    assert feed(app, confirmed).accepted == 1
    assert status(1).status == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION
    assert feed(app, send, confirmed).repeated == 2


def test_retracted_rotation_restores_refund(app: Flask, status: Callable[[int], Any]) -> None:
    wd = request(1)
    feed(app, sent(1), prepared(1, wd), *(signed(1, signature(wd, key)) for key in KEYS[:2]))
    assert status(1).status == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    members = [checksum_address(address_of(key)) for key in KEYS[4:6]]
    rotation = event("validators.updated", chain_id=1, signers=members, powers=["1", "1"], block=300)
    feed(app, rotation)
    assert status(1).status == Status.TRANSFER_REQUESTING_REFUND
    feed(app, reorg(300))
    assert status(1).status == Status.TRANSFER_REFUND_TO_BE_CONFIRMED


@pytest.mark.parametrize("batches", ["one", "two", "the other order"])
def test_send_decides_which_reorgs_count(app: Flask, status: Callable[[int], Any], batches: str) -> None:
    """The send puts the release on chain 2, whose reorg had orphaned it: its repetition counts."""
    release, send = released(1, block=201), sent(1)
    feed(app, release, reorg(200, chain_id=2))
    if batches == "two":
        feed(app, send)
        feed(app, release)
    else:
        feed(app, *((send, release) if batches == "one" else (release, send)))
    assert status(1).status == Status.TRANSFER_COMPLETED


HUGE = 2**255


def deposit(block: int) -> dict[str, Any]:
    """A deposit of the first chain."""
    fields: dict[str, Any] = {"symbol": "USDT", "amount": str(HUGE), "block": block}
    return event("liquidity.added", chain_id=1, **fields) | {"id": f"added-{block}"}


def test_reorg_reads_no_events_below(app: Flask, database: Database) -> None:
    """It read the chain's whole log: nine seconds at a million events, while every other writer waited."""
    feed(app, *(deposit(block) for block in (1, 2, 3, 9, 10)))
    with writing(database.engine) as connection:
        connection.execute(update(Event).where(Event.block < 9).values(body="not to be read"))
    assert feed(app, reorg(9)).accepted == 1
    assert counter(database)[0] == 3 * HUGE
    assert feed(app, deposit(9)).accepted == 1
    assert feed(app, reorg(10), reorg(9) | {"id": "once more"}).accepted == 2
    assert counter(database)[0] == 3 * HUGE


def test_payout_blocks_belong_to_destination(
    app: Flask, database: Database, status: Callable[[int], Any]
) -> None:
    feed(app, sent(1), released(1, block=500), reorg(400))
    assert status(1).status == Status.TRANSFER_COMPLETED
    feed(app, reorg(500, chain_id=2))
    assert status(1).status == Status.TRANSFER_SUBMITTING
    with reading(database.engine) as connection:
        assert connection.execute(select(LatencyRecord)).all() == []


def retract(audited: Audited, *events: dict[str, Any] | str) -> list[str]:
    ids = [e if isinstance(e, str) else str(e["id"]) for e in events]
    return retract_ids(*audited, ids, "wrong", actor=TESTER)


def test_double_retraction_restores_release(
    app: Flask, database: Database, audited: Audited, status: Callable[[int], Any]
) -> None:
    release = released(1)
    feed(app, sent(1), release)
    before = state(database)
    (first,) = retract(audited, release)
    assert status(1).status == Status.TRANSFER_SUBMITTING
    (second,) = retract(audited, first)
    assert status(1).status == Status.TRANSFER_COMPLETED
    assert state(database) == before
    retract(audited, second)
    assert status(1).status == Status.TRANSFER_SUBMITTING


def test_pools_fees_validators_and_heads_are_undone(
    app: Flask, database: Database, audited: Audited, status: Callable[[int], Any]
) -> None:
    wd = request(1)
    route: dict[str, Any] = {"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 2}
    feed(
        app,
        event("liquidity.added", chain_id=1, symbol="USDT", amount="7"),
        event("fee.updated", at=-9, base_fee="1", **route),
        event("chain.head", chain_id=1, block=1000),
        sent(1),
        prepared(1, wd),
        *(signed(1, signature(wd, k)) for k in KEYS[:2]),
    )
    wrong = [
        event("liquidity.added", chain_id=1, symbol="USDT", amount="900"),
        event("fee.updated", at=-8, base_fee="5", **route),
        event("chain.head", at=1, chain_id=1, block=10**12),
        event("validators.updated", chain_id=1, signers=["0x" + "99" * 20], powers=["1"]),
    ]
    before = state(database)
    feed(app, *wrong)
    assert status(1).status == Status.TRANSFER_REQUESTING_REFUND
    retract(audited, *wrong)
    assert status(1).status == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    after = state(database)
    for table in ("pool_counters", "fed_fees", "fed_validator_sets", "refunds", "anomalies"):
        assert after[table] == before[table], table
    with reading(database.engine) as connection:
        assert connection.scalar(select(ChainProgress.highest_block)) == 1000
        assert connection.scalar(select(ReportedFee.base_fee)) == 1
        assert connection.scalar(select(PoolCounter.added)) == 7


def test_retraction_undoes_too_high_block(
    app: Flask, database: Database, audited: Audited, status: Callable[[int], Any]
) -> None:
    """Else every true reorg of the chain would seem too deep to be believed."""
    wrong = [sent(1, block=60_000_000), released(2, block=70_000_000)]
    feed(app, sent(2), released(3, block=200), sent(3), *wrong)
    reorg = event("chain.reorged", chain_id=1, from_block=90)
    assert "blocks below" in feed(app, reorg).refused[0].reason
    retract(audited, *wrong)
    assert [row[:2] for row in state(database)["chain_progress"]] == [(1, 100), (2, 200)]
    assert feed(app, reorg).refused == []
    assert status(3).status != Status.TRANSFER_SUBMITTING


def test_retract_reporter_since_a_time(app: Flask, audited: Audited, status: Callable[[int], Any]) -> None:
    feed(app, sent(1), sent(2), reporter="good")
    feed(app, released(1), released(2), reporter="bad")
    assert retract_reporter(*audited, "bad", NOW - timedelta(seconds=1), "stolen", actor=TESTER)
    assert [status(n).status for n in (1, 2)] == [Status.TRANSFER_SUBMITTING, Status.TRANSFER_SUBMITTING]
    with pytest.raises(NothingToRetract, match="has reported nothing since"):
        retract_reporter(*audited, "bad", NOW + timedelta(seconds=1), "stolen", actor=TESTER)


def test_reporter_cannot_retract(app: Flask) -> None:
    refused = feed(app, event("events.retracted", targets=["x"], reason="y")).refused
    assert refused[0].reason.startswith("type: must be one of")


def test_reporter_cannot_limit_its_event_to_chains(app: Flask, database: Database) -> None:
    """Only lines of an exported log say which chains their reporter was limited to."""
    assert feed(app, sent(1) | {"limited_to": [UNRELATED]}).accepted == 1
    assert b"limited_to" not in b"".join(export_log(database))


def everything(app: Flask) -> None:
    """A history with a bit of all that can happen."""
    wd = request(3)
    release, reorg = released(1, block=500), event("chain.reorged", chain_id=1, from_block=100)
    added = event("liquidity.added", chain_id=1, symbol="USDT", amount="7", block=150)
    feed(app, sent(1), sent(2), release, added, reorg, sent(2), released(2), added)
    feed(app, sent(3), prepared(3, wd), *(signed(3, signature(wd, k)) for k in KEYS[:2]))
    feed(app, event("fee.updated", symbol="USDT", src_chain_id=1, dst_chain_id=2, base_fee="5"))
    feed(app, event("chain.head", chain_id=1, block=700), released(3), reorg, sent(3), sent(1))
    feed(app, sent(4), about(4, "transfer.failed"), about(4, "network.status", xfer_status=3))
    (first,) = retract(audited_of(app), released(3), released(2))
    feed(app, released(2))
    retract(audited_of(app), first)


def test_exported_log_gives_same_answers(app: Flask, database: Database, intake: Intake) -> None:
    everything(app)
    before = state(database)
    lines = list(export_log(database))
    forget_events(app)
    verdict = ingest_lines(database, intake, lines, "cli", types=EVENT_CLASSES)
    assert verdict.refused == []
    assert {**state(database), "chain_progress": []} == {**before, "chain_progress": []}


def test_retracting_old_send_leaves_later_confirmation(
    app: Flask, database: Database, audited: Audited, status: Callable[[int], Any]
) -> None:
    """The later confirmation is of the send in the new block."""
    orphaned, early = sent(1), about(1, "transfer.confirmed")
    feed(app, orphaned, early, event("chain.reorged", chain_id=1, from_block=100))
    again, later = sent(1, at=-90, block=101), about(1, "transfer.confirmed", at=-40)
    feed(app, again, later)
    assert status(1).status == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION
    before = state(database)
    retract(audited, orphaned)
    assert status(1).status == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION
    retract(audited, later)
    assert status(1).status == Status.TRANSFER_SUBMITTING, (
        "the early confirmation was orphaned with the send that it confirmed"
    )
    assert before["transfers"] != state(database)["transfers"]
    retract(audited, again)
    assert status(1).status == Status.TRANSFER_UNKNOWN


def test_repeated_reorg_orphans_again(app: Flask, status: Callable[[int], Any]) -> None:
    feed(app, sent(1), reorg(100), sent(1))
    assert status(1).status == Status.TRANSFER_SUBMITTING
    assert feed(app, reorg(100)).repeated == 1
    assert status(1).status == Status.TRANSFER_UNKNOWN
    feed(app, sent(1))
    assert status(1).status == Status.TRANSFER_SUBMITTING


def test_retracting_send_orphans_confirmations(
    app: Flask, audited: Audited, status: Callable[[int], Any]
) -> None:
    send, confirmed = sent(1), about(1, "transfer.confirmed")
    feed(app, send, confirmed)
    retract(audited, send)
    assert status(1).status == Status.TRANSFER_UNKNOWN
    feed(app, send)
    assert status(1).status == Status.TRANSFER_SUBMITTING
