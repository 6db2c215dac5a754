"""What a reorg takes back, and how it comes again."""

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import PoolCounter
from app.latency.models import LatencyRecord
from app.transfers.models import Event
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import address_of, checksum_address
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
