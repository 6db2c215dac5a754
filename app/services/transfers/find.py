"""Finding transfers by an id or a transaction (docs/interface.md#get-transfer)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection

from app.domain.codes import TransferHistoryStatus
from app.domain.keys import BlockNumber, ChainId, TransferId
from app.domain.wire_values import parse_transfer_id
from app.queries.transfers.history import TransferEntry, transfers_of_key
from app.queries.transfers.status import pruned_statuses
from app.queries.transfers.trends import chain_progress
from app.runtime.gateway import Gateway
from app.services.transfers.history import ListedTransfer, listed_transfer
from app.services.transfers.progress import progress_of_row, taken_in_at
from app.services.transfers.status import transfer_not_found


class TransferKnowledge(StrEnum):
    """What is known of a key: nothing, an announcement alone, or a transfer."""

    UNKNOWN = "unknown"
    ANNOUNCED = "announced"
    KNOWN = "known"


@dataclass(frozen=True, slots=True)
class ReadTo:
    """How far a chain was read: its highest block, None where no event named one, and its newest event."""

    block: BlockNumber | None
    at: datetime


@dataclass(frozen=True, slots=True)
class FoundTransfers:
    """The transfers of a key, the earliest first, and how far the chains had been read before the search."""

    state: TransferKnowledge
    transfers: Sequence[ListedTransfer]
    read_to: Mapping[ChainId, ReadTo]


def find_transfers(gateway: Gateway, key: str, chain_id: ChainId | None) -> FoundTransfers:
    """The transfers that have this id, or whose log names this transaction. No node is asked.

    :param key: as ``wire_values.parse_tx_hash`` gives it.
    :param chain_id: the chain of the transaction; None for any.
    :raises GatewayError: the id is that of a transfer which is no longer kept here.
    :raises Unavailable: the configuration cannot be read.
    """
    snapshot, as_of = gateway.snapshots.current(), taken_in_at(gateway)
    transfer_id = _as_transfer_id(key)
    entries, read_to = gateway.public_reads.ask(_find, key, transfer_id, chain_id)
    if not entries and transfer_id is not None and gateway.public_reads.ask(pruned_statuses, [transfer_id]):
        raise transfer_not_found(gateway, transfer_id)
    found = [
        listed_transfer(snapshot, entry, progress_of_row(gateway, entry.status), as_of) for entry in entries
    ]
    return FoundTransfers(_knowledge(entries), found, read_to)


def _as_transfer_id(key: str) -> TransferId | None:
    try:
        return parse_transfer_id(key)
    except ValueError:
        return None


def _find(
    connection: Connection, key: str, transfer_id: TransferId | None, chain_id: ChainId | None
) -> tuple[list[TransferEntry], Mapping[ChainId, ReadTo]]:
    """The progress is read first: what a chain is said to have been read to was searched, too."""
    read_to = {
        row.chain_id: ReadTo(row.highest_block, row.newest_at)
        for row in chain_progress(connection)
        if chain_id in (None, row.chain_id)
    }
    return transfers_of_key(connection, key, transfer_id, chain_id), read_to


def _knowledge(entries: Sequence[TransferEntry]) -> TransferKnowledge:
    """Announced, while a submission is all that stands of every transfer found."""
    if not entries:
        return TransferKnowledge.UNKNOWN
    submitting = TransferHistoryStatus.TRANSFER_SUBMITTING
    if all(entry.status.status == submitting and entry.status.sent_at is None for entry in entries):
        return TransferKnowledge.ANNOUNCED
    return TransferKnowledge.KNOWN
