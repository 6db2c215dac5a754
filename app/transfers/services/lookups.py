"""Finds transfers by an id or a transaction, and those of accounts, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Protocol

from msgspec import Struct
from sqlalchemy import Connection

from app.db.database import Database
from app.network.snapshot import NetworkSnapshot, SnapshotSource
from app.transfers.handed_in import CHAIN_PROOFS
from app.transfers.queries.history import TransferEntry, transfers_of_accounts, transfers_of_key
from app.transfers.queries.logged import reported_histories
from app.transfers.queries.status import pruned_statuses
from app.transfers.queries.trends import chain_progress
from app.transfers.rules.certainty import Certainty, certainty_of
from app.transfers.rules.events.event_types import BlockEvent
from app.transfers.rules.progress import Progress
from app.transfers.services.status import (
    TransferStatus,
    progress_of_row,
    read_as_of,
    status_of,
    transfer_not_found,
)
from app.values.codes import TransferHistoryStatus
from app.values.identifiers import BlockNumber, ChainId, TransferId
from app.values.times import unix_milliseconds
from app.values.wire_values import parse_transfer_id


class TransferKnowledge(StrEnum):
    UNKNOWN = "unknown"
    ANNOUNCED = "announced"
    KNOWN = "known"


class ReadTo(Struct, frozen=True):
    """How far a chain was read: its highest block, None where no event named one, and its newest event."""

    block: BlockNumber | None
    at: datetime


class Words(Struct, frozen=True):
    """A transfer in words for its user: a headline, where the money is, what happens next, how sure it is.

    ``lang`` is the language (BCP 47): English where the wanted one is not known.
    """

    lang: str
    headline: str
    now: str
    next: str
    certainty: str


class FoundTransfer(Struct, frozen=True):
    """A transfer that was found, and how sure its status is; its words only where a language was named."""

    listed: ListedTransfer
    certainty: Certainty
    words: Words | None = None


class Wording(Protocol):
    """Puts transfers into the words of the page of a transfer, which hands it in."""

    def words(
        self, database: Database, snapshots: SnapshotSource, found: Sequence[FoundTransfer], lang: str
    ) -> list[Words]:
        """The words for each transfer in a language, which is named as browsers do."""


class FoundTransfers(Struct, frozen=True):
    """The transfers of a key, the earliest first, and how far the chains had been read before the search."""

    state: TransferKnowledge
    transfers: Sequence[FoundTransfer]
    read_to: Mapping[ChainId, ReadTo]


def find_transfers(
    database: Database, snapshots: SnapshotSource, key: str, chain_id: ChainId | None
) -> FoundTransfers:
    """The transfers that have this id, or whose log names this transaction. No node is queried.

    :param key: as ``wire_values.parse_tx_hash`` gives it.
    :param chain_id: the chain of the transaction; None for any.
    :raises GatewayError: the transfer with this id is no longer stored.
    :raises Unavailable: the configuration cannot be read.
    """
    snapshot = snapshots.current()
    transfer_id = as_transfer_id(key)
    (entries, certainties, read_to), as_of = read_as_of(
        database, lambda connection: _find(connection, key, transfer_id, chain_id), several=True
    )
    if not entries and transfer_id is not None and database.public.run_read(pruned_statuses, [transfer_id]):
        raise transfer_not_found(database, snapshot, transfer_id)
    found = [
        FoundTransfer(
            listed_transfer(snapshot, entry, progress_of_row(database, snapshot, entry.status), as_of),
            certainty,
        )
        for entry, certainty in zip(entries, certainties, strict=True)
    ]
    return FoundTransfers(_knowledge(entries), found, read_to)


def as_transfer_id(key: str) -> TransferId | None:
    """The key as a transfer id; None if it can only be the hash of a transaction."""
    try:
        return parse_transfer_id(key)
    except ValueError:
        return None


def _find(
    connection: Connection, key: str, transfer_id: TransferId | None, chain_id: ChainId | None
) -> tuple[list[TransferEntry], list[Certainty], Mapping[ChainId, ReadTo]]:
    """Needs one snapshot: the search covers all blocks up to the progress, and what is sure is the status
    returned.
    """
    read_to = {
        row.chain_id: ReadTo(row.highest_block, row.newest_at)
        for row in chain_progress(connection)
        if chain_id in (None, row.chain_id)
    }
    entries = transfers_of_key(connection, key, transfer_id, chain_id)
    return entries, certainties_of(connection, entries), read_to


def certainties_of(connection: Connection, entries: Sequence[TransferEntry]) -> list[Certainty]:
    if not entries:
        return []
    histories = reported_histories(connection, [entry.transfer_id for entry in entries])
    of_entries = [(entry.status.src_chain_id, entry.status.dst_chain_id) for entry in entries]
    logged = (each.event for history, _ in histories.values() for each in history.log)
    blocks = {event.block for event in logged if isinstance(event, BlockEvent) and event.block is not None}
    chain_ids = {each for pair in of_entries for each in pair if each is not None}
    proofs = CHAIN_PROOFS(connection, chain_ids, blocks)
    return [
        certainty_of(TransferHistoryStatus(entry.status.status), *histories[entry.transfer_id], proofs)
        for entry in entries
    ]


def _knowledge(entries: Sequence[TransferEntry]) -> TransferKnowledge:
    """Announced, if every transfer found only has a canonical submission."""
    if not entries:
        return TransferKnowledge.UNKNOWN
    submitting = TransferHistoryStatus.TRANSFER_SUBMITTING
    if all(entry.status.status == submitting and entry.status.sent_at is None for entry in entries):
        return TransferKnowledge.ANNOUNCED
    return TransferKnowledge.KNOWN


MAX_PAGE: Final = 100
"""Transfers of a page, in addition to those that began in the same millisecond as its last."""

_NEWEST: Final = 2**63 - 1


class Leg(Struct, frozen=True):
    """One end of a transfer: chain and token as the transfer configs have them, and how much.

    ``amount`` is in this chain's units, 0 while it is not known or nothing was paid.
    """

    chain: Mapping[str, Any]
    token: Mapping[str, Any]
    amount: int


class ListedTransfer(Struct, frozen=True):
    """A transfer of a history; times in milliseconds since 1970, 0 for earlier ones."""

    transfer_id: TransferId
    sent: Leg
    received: Leg
    began_ms: int
    updated_ms: int
    sender: str
    receiver: str
    status: TransferStatus


class HistoryPage(Struct, frozen=True):
    """Transfers, the newest first, and the token of the page after it; ``""`` after an empty one."""

    transfers: Sequence[ListedTransfer]
    next_page_token: str


def transfer_history(
    database: Database, snapshots: SnapshotSource, accounts: Sequence[str], before_ms: int | None, size: int
) -> HistoryPage:
    """A page of what the accounts sent and received, each transfer once.

    It has the transfers that began before ``before_ms``, and all of the last one's millisecond: following the
    tokens shows every transfer once, also while new ones arrive.

    :param accounts: distinct ``account_key`` values.
    :param before_ms: milliseconds since 1970; None for the newest page.
    :param size: counts as ``MAX_PAGE`` where it is more.
    :raises Unavailable: the configuration cannot be read.
    """
    snapshot = snapshots.current()
    if not size or before_ms == 0:
        return HistoryPage((), "")
    before_ms = _NEWEST if before_ms is None else min(before_ms, _NEWEST)
    entries = database.public.run_read(transfers_of_accounts, accounts, before_ms, min(size, MAX_PAGE))
    listed = [listed_transfer(snapshot, entry) for entry in entries]
    return HistoryPage(listed, str(listed[-1].began_ms) if listed else "")


def listed_transfer(
    snapshot: NetworkSnapshot,
    entry: TransferEntry,
    progress: Progress | None = None,
    as_of: datetime | None = None,
) -> ListedTransfer:
    row, index = entry.status, snapshot.config_index
    src_token, dst_token = index.tokens(row.kind, row.symbol, row.src_chain_id, row.dst_chain_id)
    if row.symbol is None and entry.token is not None:
        src_token = index.unlisted_token(entry.token)
    return ListedTransfer(
        transfer_id=entry.transfer_id,
        sent=Leg(index.chain(row.src_chain_id), src_token, entry.amount or 0),
        received=Leg(index.chain(row.dst_chain_id), dst_token, entry.received_amount or 0),
        began_ms=max(unix_milliseconds(entry.began_at), 0) if entry.began_at else 0,
        updated_ms=max(unix_milliseconds(entry.updated_at), 0),
        sender=entry.sender or "",
        receiver=entry.receiver or "",
        status=status_of(snapshot.terms, row, progress, as_of),
    )
