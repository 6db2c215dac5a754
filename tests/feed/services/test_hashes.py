"""The transactions that a transfer's row does not hold have rows of their own, in any order of events."""

from __future__ import annotations

from flask import Flask
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.retract import retract_ids
from app.transfers.models import TransferHash
from tests.actors import TESTER
from tests.applications import Audited
from tests.feed.services.world import about, event, feed, released, sent, transfer_id

SEND, OTHER_SEND = "0x" + "a1" * 32, "0x" + "a2" * 32
PAYOUT, QUEUED, REFUND = "0x" + "ee" * 32, "0x" + "d1" * 32, "0x" + "fe" * 32


def hashes(database: Database) -> set[tuple[str, str]]:
    with reading(database.reads) as connection:
        rows = connection.execute(select(TransferHash.transfer_id, TransferHash.tx_hash))
        return {("0x" + row.transfer_id.hex(), row.tx_hash) for row in rows}


def test_hash_of_row_is_not_stored_twice(app: Flask, database: Database) -> None:
    feed(app, sent(1, src_tx_hash=SEND), about(1, "transfer.delayed", dst_tx_hash=QUEUED, block=3))
    assert hashes(database) == set()
    feed(app, released(1))
    assert hashes(database) == {(transfer_id(1), QUEUED)}
    feed(app, about(1, "refund.submitted", tx_hash=REFUND, block=120))
    assert hashes(database) == {(transfer_id(1), QUEUED), (transfer_id(1), REFUND)}


def test_orphaned_send_is_found_by_hash(app: Flask, database: Database, audited: Audited) -> None:
    """It moves back when it is canonical again."""
    feed(app, sent(1, event_id="send", src_tx_hash=SEND))
    feed(app, event("chain.reorged", at=-60, chain_id=1, from_block=100))
    assert hashes(database) == {(transfer_id(1), SEND)}
    feed(app, sent(1, event_id="send", src_tx_hash=SEND))
    assert hashes(database) == set()
    feed(app, sent(1, at=-20, src_tx_hash=OTHER_SEND))
    assert hashes(database) == {(transfer_id(1), OTHER_SEND)}
    retract_ids(*audited, ["send"], "wrong", actor=TESTER)
    assert hashes(database) == {(transfer_id(1), SEND)}


def test_every_hash_is_stored_in_one_form(app: Flask, database: Database) -> None:
    feed(
        app,
        sent(1, src_tx_hash=SEND),
        about(1, "transfer.submitted", at=-110, src_chain_id=1, src_tx_hash=OTHER_SEND),
        about(1, "transfer.delayed", dst_tx_hash=QUEUED, block=3),
        released(1),
        sent(2, src_tx_hash="NotHex"),
        about(2, "refund.submitted", tx_hash=REFUND, block=120),
        about(2, "refund.completed"),
    )
    assert hashes(database) == {
        (transfer_id(1), OTHER_SEND),
        (transfer_id(1), QUEUED),
        (transfer_id(2), REFUND),
    }
