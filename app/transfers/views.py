"""Where transfers are, and which there are: what each public operation asks of the services."""

from __future__ import annotations

from typing import Any

from app.db.database import Database
from app.network.snapshot import SnapshotSource
from app.parts import current
from app.transfers.schemas.status_answers import statuses_json
from app.transfers.services.lookups import FoundTransfers, HistoryPage, find_transfers, transfer_history
from app.transfers.services.status import (
    TransferStatus,
    transfer_status,
    transfer_status_by_transaction,
    transfer_statuses,
)


def get_transfer_status(asked: dict[str, Any]) -> TransferStatus:
    """Where is this transfer?"""
    database, snapshots = current(Database), current(SnapshotSource)
    if "transfer_id" in asked:
        return transfer_status(database, snapshots, asked["transfer_id"])
    return transfer_status_by_transaction(database, snapshots, asked["tx_hash"], asked["src_chain_id"])


def get_transfer_statuses(asked: dict[str, Any]) -> dict[str, Any]:
    """Where are these transfers?"""
    wanted = asked["transfer_ids"]
    return statuses_json(wanted, transfer_statuses(current(Database), current(SnapshotSource), wanted))


def get_transfer_history(asked: dict[str, Any]) -> HistoryPage:
    """What did these accounts send and receive?"""
    wanted = asked["accounts"], asked["next_page_token"], asked["page_size"]
    return transfer_history(current(Database), current(SnapshotSource), *wanted)


def get_transfer(asked: dict[str, Any]) -> FoundTransfers:
    """Which transfers are behind this id or transaction?"""
    return find_transfers(current(Database), current(SnapshotSource), asked["key"], asked.get("chain_id"))
