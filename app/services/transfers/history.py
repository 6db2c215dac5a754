"""What accounts sent and received, a page at a time (docs/interface.md#transfer-history)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from app.domain.keys import TransferId
from app.domain.times import unix_milliseconds
from app.domain.transfer.progress import Progress
from app.queries.transfers.history import TransferEntry, transfers_of_accounts
from app.runtime.gateway import Gateway
from app.runtime.snapshot import NetworkSnapshot
from app.services.transfers.status import TransferStatus, status_of

MAX_PAGE: Final = 100
"""Transfers of a page, beside those that began in the same millisecond as its last."""

_NEWEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Leg:
    """One end of a transfer: chain and token as the transfer configs have them, and how much.

    ``amount`` is in this chain's units, 0 while it is not known or nothing was paid.
    """

    chain: Mapping[str, Any]
    token: Mapping[str, Any]
    amount: int


@dataclass(frozen=True, slots=True)
class ListedTransfer:
    """A transfer of a history; times in milliseconds since 1970, 0 for earlier ones."""

    transfer_id: TransferId
    sent: Leg
    received: Leg
    began_ms: int
    updated_ms: int
    sender: str
    receiver: str
    status: TransferStatus


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Transfers, the newest first, and the token of the page after it; ``""`` after an empty one."""

    transfers: Sequence[ListedTransfer]
    next_page_token: str


def transfer_history(
    gateway: Gateway, accounts: Sequence[str], before_ms: int | None, size: int
) -> HistoryPage:
    """A page of what the accounts sent and received, each transfer once.

    Only transfers that began before ``before_ms`` are in it, and all of the last one's millisecond: following
    the tokens shows every transfer once, also while new ones arrive.

    :param accounts: distinct ``account_key`` values.
    :param before_ms: milliseconds since 1970; None for the newest page.
    :param size: how many are wanted: at most ``MAX_PAGE`` are given, and those of the last's millisecond.
    :raises Unavailable: the configuration cannot be read.
    """
    snapshot = gateway.snapshots.current()
    if not size or before_ms == 0:
        return HistoryPage((), "")
    before_ms = _NEWEST if before_ms is None else min(before_ms, _NEWEST)
    entries = gateway.public_reads.ask(transfers_of_accounts, accounts, before_ms, min(size, MAX_PAGE))
    listed = [listed_transfer(snapshot, entry) for entry in entries]
    return HistoryPage(listed, str(listed[-1].began_ms) if listed else "")


def listed_transfer(
    snapshot: NetworkSnapshot,
    entry: TransferEntry,
    progress: Progress | None = None,
    as_of: datetime | None = None,
) -> ListedTransfer:
    """The transfer as histories show it."""
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
