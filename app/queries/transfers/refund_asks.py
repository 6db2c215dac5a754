"""Whose refund was asked for, when, and at which status is a transfer that somebody asks for?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from app.domain.keys import ChainId, TransferId
from app.models.refunds.asks import RefundAsk
from app.models.transfers import Transfer


def status_of(connection: Connection, transfer_id: TransferId) -> int | None:
    """The status that the transfer has now, None for an unknown id."""
    return connection.scalar(select(Transfer.status).where(Transfer.transfer_id == transfer_id))


def asked_at(connection: Connection, transfer_ids: Collection[bytes]) -> dict[bytes, datetime]:
    """When the refund of each of the transfers was asked for; those without an ask are left out."""
    rows = connection.execute(
        select(RefundAsk.transfer_id, RefundAsk.at).where(RefundAsk.transfer_id.in_(transfer_ids))
    )
    return {row.transfer_id: row.at for row in rows}


class AskRow(NamedTuple):
    """An ask. ``chain_id`` is the source of its transfer's send, None while no send is known."""

    seq: int
    transfer_id: TransferId
    at: datetime
    chain_id: ChainId | None


def asks_after(connection: Connection, after: int, limit: int) -> Sequence[AskRow]:
    """The next asks in the order of ``seq``, from the one behind ``after`` on."""
    rows = connection.execute(
        select(RefundAsk.seq, RefundAsk.transfer_id, RefundAsk.at, Transfer.src_chain_id, Transfer.kind)
        .join_from(RefundAsk, Transfer, RefundAsk.transfer_id == Transfer.transfer_id, isouter=True)
        .where(RefundAsk.seq > after)
        .order_by(RefundAsk.seq)
        .limit(limit)
    )
    return [
        AskRow(row.seq, row.transfer_id, row.at, row.src_chain_id if row.kind is not None else None)
        for row in rows
    ]
