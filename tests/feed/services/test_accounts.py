"""Under which accounts and hashes transfers are found, in any order of events."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import select

from app.audit.keys import AuditKeys
from app.db.database import Database
from app.db.engine import reading
from app.feed.services.ingest import Intake
from app.feed.services.prune import prune
from app.feed.services.retract import retract_ids
from app.network.snapshot import SnapshotSource
from app.transfers.models import Transfer, TransferAccount, TransferHash
from app.transfers.services.lookups import find_transfers, transfer_history
from app.transfers.services.status import TransferStatus, transfer_statuses
from app.values.codes import Reason
from app.values.errors import GatewayError
from app.values.identifiers import TransferId
from tests.actors import TESTER
from tests.applications import Audited
from tests.feed.services.world import (
    NOW,
    SENDER,
    about,
    event,
    feed,
    id_of,
    released,
    sent,
    transfer_id,
)

ME, OTHER = SENDER.lower(), "SoMeBody.near"


def listed(database: Database) -> set[tuple[str, int, str]]:
    """Account, seconds from NOW, and transfer."""
    with reading(database.reads) as connection:
        rows = connection.execute(
            select(TransferAccount.account, TransferAccount.began_ms, TransferAccount.transfer_id)
        )
        return {
            (row.account, row.began_ms - round(NOW.timestamp() * 1000), "0x" + row.transfer_id.hex())
            for row in rows
        }


@pytest.mark.every_database
def test_sender_and_receiver_are_listed_once(app: Flask, database: Database) -> None:
    feed(app, sent(1, at=-100.0009), sent(2, receiver=OTHER))
    feed(app, sent(3, sender="İSTANBUL", receiver="straße"))
    assert listed(database) == {
        (ME, -100_001, transfer_id(1)),
        (ME, -100_000, transfer_id(2)),
        ("somebody.near", -100_000, transfer_id(2)),
        ("i̇stanbul", -100_000, transfer_id(3)),
        ("strasse", -100_000, transfer_id(3)),
    }


def test_transfer_is_listed_since_announcement(app: Flask, database: Database) -> None:
    feed(app, about(1, "transfer.submitted", at=-110, src_chain_id=1, sender=OTHER.upper()))
    announced = {("somebody.near", -110_000, transfer_id(1))}
    assert listed(database) == announced
    feed(app, sent(1, event_id="send", sender=OTHER), released(1))
    assert listed(database) == announced | {(ME, -110_000, transfer_id(1))}
    feed(app, event("chain.reorged", at=-60, chain_id=1, from_block=100))
    assert listed(database) == announced | {(ME, -110_000, transfer_id(1))}


def test_unknown_transfer_is_not_listed(app: Flask, database: Database, audited: Audited) -> None:
    feed(app, about(1, "network.status", xfer_status=4), sent(2, event_id="send"))
    retract_ids(*audited, ["send"], "wrong", actor=TESTER)
    assert listed(database) == set()


def received(database: Database) -> dict[str, int | None]:
    with reading(database.reads) as connection:
        rows = connection.execute(select(Transfer.transfer_id, Transfer.received_amount))
        return {"0x" + row.transfer_id.hex(): row.received_amount for row in rows}


def test_received_amount_in_destination_units(app: Flask, database: Database) -> None:
    """The amount of the release, else that of the send in destination units, also of pairs."""
    feed(
        app,
        sent(1),
        released(1),
        sent(2, kind="deposit", symbol="CELR", dst_chain_id=2),
        released(2, amount="999"),
        sent(3, kind="burn", symbol="CELR", src_chain_id=2, dst_chain_id=3, amount="7"),
        released(3),
        sent(4, kind="burn", symbol="NEW", src_chain_id=2, dst_chain_id=1),
        released(4),
        sent(5),
    )
    amounts = (10**21, 999, 7, None, None)
    assert received(database) == {transfer_id(n): amount for n, amount in enumerate(amounts, start=1)}


def test_pruned_transfer_is_unlisted_and_answered(
    app: Flask, database: Database, snapshots: SnapshotSource, intake: Intake, audit_keys: AuditKeys
) -> None:
    """The error has how it ended."""
    feed(app, sent(1), released(1), sent(2))
    later = replace(database, clock=lambda: NOW + timedelta(days=30))
    prune(later, audit_keys, intake, NOW + timedelta(days=1), actor=TESTER)
    assert listed(database) == {(ME, -100_000, transfer_id(2))}
    page = transfer_history(database, snapshots, [ME], None, 10)
    assert [each.transfer_id.hex() for each in page.transfers] == [transfer_id(2)[2:]]
    with pytest.raises(GatewayError, match="it was completed long ago") as refused:
        find_transfers(database, snapshots, transfer_id(1), None)
    assert refused.value.reason is Reason.TRANSFER_NOT_FOUND
    one, two, unknown = transfer_statuses(
        database,
        snapshots,
        [TransferId(id_of(n)) for n in (1, 2, 3)],
    )
    assert isinstance(one, GatewayError)
    assert one.msg == refused.value.msg
    assert isinstance(two, TransferStatus)
    assert isinstance(unknown, GatewayError)
    assert "newest events" in unknown.msg


SEND, OTHER_SEND = "0x" + "a1" * 32, "0x" + "a2" * 32
PAYOUT, QUEUED, REFUND = "0x" + "ee" * 32, "0x" + "d1" * 32, "0x" + "fe" * 32


def hashes(database: Database) -> set[tuple[str, str]]:
    with reading(database.reads) as connection:
        rows = connection.execute(select(TransferHash.transfer_id, TransferHash.tx_hash))
        return {("0x" + row.transfer_id.hex(), row.tx_hash) for row in rows}


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
