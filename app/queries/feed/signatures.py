"""Which signatures are kept beside the folded log?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select

from app.domain.transfer.events import RefundSigned
from app.domain.transfer.judge import LatestAcceptance
from app.domain.transfer.subjects import EventKey
from app.models.choice import is_one_of
from app.models.events import Event
from app.models.signatures import SignatureAside, SignatureNotNeeded
from app.models.transfers import Transfer
from app.queries.feed.codec import decode_event

AsideRow = Row[*tuple[Any, ...]]
"""The columns of ``signatures_aside``."""


def load_aside(connection: Connection, transfer_ids: Collection[bytes]) -> Sequence[AsideRow]:
    """The signatures kept aside of these transfers, in an order that does not depend on their arrival."""
    table = SignatureAside
    of_transfers = select(table.__table__).where(is_one_of(connection, table.transfer_id, transfer_ids))
    return connection.execute(of_transfers.order_by(table.at, table.event_id, table.signature)).all()


def count_aside(connection: Connection, transfer_ids: Collection[bytes]) -> dict[bytes, int]:
    """How many are kept aside of each of the transfers that has any."""
    table = SignatureAside
    counted = select(table.transfer_id, func.count()).where(
        is_one_of(connection, table.transfer_id, transfer_ids)
    )
    return {row[0]: row[1] for row in connection.execute(counted.group_by(table.transfer_id))}


def transfers_with_aside(connection: Connection, src_chain_ids: Collection[int]) -> Sequence[bytes]:
    """The transfers from these chains of which signatures are kept aside."""
    aside = select(SignatureAside.transfer_id)
    return connection.scalars(
        select(Transfer.transfer_id).where(
            Transfer.transfer_id.in_(aside), Transfer.src_chain_id.in_(src_chain_ids)
        )
    ).all()


def latest_not_needed(
    connection: Connection, events: Collection[RefundSigned]
) -> dict[EventKey, LatestAcceptance]:
    """Of these events those whose acceptances are left out of the folded log."""
    rows = connection.execute(
        select(Event.event_id, Event.seq, Event.occurrence, Event.type, Event.body)
        .join(SignatureNotNeeded, SignatureNotNeeded.seq == Event.seq)
        .where(
            is_one_of(connection, SignatureNotNeeded.transfer_id, {event.transfer_id for event in events}),
            is_one_of(connection, Event.event_id, {event.id for event in events}),
        )
        .order_by(Event.seq)
    )
    found: dict[EventKey, LatestAcceptance] = {}
    for row in rows:
        event = decode_event(row.event_id, row.type, row.body)
        found[event.key] = LatestAcceptance(row.seq, row.occurrence, event)
    return found
