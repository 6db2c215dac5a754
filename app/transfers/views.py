"""The public operations about transfers."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from app.db.database import Database
from app.http.application import current
from app.network.snapshot import SnapshotSource
from app.transfers.schemas.status_answers import statuses_json
from app.transfers.services.lookups import (
    FoundTransfers,
    HistoryPage,
    Wording,
    find_transfers,
    transfer_history,
)
from app.transfers.services.status import (
    TransferStatus,
    transfer_status,
    transfer_status_by_transaction,
    transfer_statuses,
)


def get_transfer_status(requested: dict[str, Any]) -> TransferStatus:
    parts = current(Database), current(SnapshotSource)
    if "transfer_id" in requested:
        return transfer_status(*parts, requested["transfer_id"])
    return transfer_status_by_transaction(*parts, requested["tx_hash"], requested["src_chain_id"])


def get_transfer_statuses(requested: dict[str, Any]) -> dict[str, Any]:
    wanted = requested["transfer_ids"]
    parts = current(Database), current(SnapshotSource)
    return statuses_json(wanted, transfer_statuses(*parts, wanted))


def get_transfer_history(requested: dict[str, Any]) -> HistoryPage:
    wanted = requested["accounts"], requested["next_page_token"], requested["page_size"]
    return transfer_history(current(Database), current(SnapshotSource), *wanted)


def get_transfer(requested: dict[str, Any]) -> FoundTransfers:
    parts = current(Database), current(SnapshotSource)
    found = find_transfers(*parts, requested["key"], requested.get("chain_id"))
    lang = requested.get("lang")
    if not lang:
        return found
    words = current(Wording).words(*parts, found.transfers, lang)
    worded = [replace(each, words=own) for each, own in zip(found.transfers, words, strict=True)]
    return replace(found, transfers=worded)
