"""What has come since a position in the log?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, or_, select

from app.domain.keys import TransferId, account_key
from app.domain.transfer.event_types import EventType
from app.models.choice import is_one_of
from app.models.events import Event
from app.models.refunds.asks import RefundAsk
from app.models.transfers import Transfer

MOST_NEWS: Final = 5_000
"""Entries of the log that are looked at in one question. Where there are more, anything may have changed."""

REACH_FAR: Final = tuple(
    kind.value
    for kind in (
        EventType.CHAIN_REORGED,
        EventType.VALIDATORS_UPDATED,
        EventType.EVENTS_RETRACTED,
        EventType.WITHDRAW_DONE,
        EventType.LIQUIDITY_WITHDRAWN,
    )
)
"""Events that change the statuses of transfers that they do not name."""


class Heads(NamedTuple):
    """How far the log of events and the list of asks for refunds reach; 0 where there is nothing."""

    seq: int
    asks: int
    taken_in_at: datetime | None = None
    """When the newest event was accepted."""


_HEADS: Final = select(
    select(func.max(Event.seq)).scalar_subquery(),
    select(func.max(RefundAsk.seq)).scalar_subquery(),
    select(Event.received_at).order_by(Event.seq.desc()).limit(1).scalar_subquery(),
)


@dataclass(frozen=True, slots=True)
class News:
    """What came between two heads."""

    transfer_ids: set[TransferId] = field(default_factory=set)
    """Transfers that an event or an ask names."""
    anything: bool = False
    """Whether the status of any transfer may have changed."""


def load_heads(connection: Connection) -> Heads:
    """All of it, in one statement."""
    seq, asks, taken_in_at = connection.execute(_HEADS).one()
    return Heads(seq or 0, asks or 0, taken_in_at)


def load_news(connection: Connection, since: Heads, until: Heads) -> News:
    """What came after ``since``, up to ``until``."""
    found: set[TransferId] = set()
    if until.asks > since.asks:
        found.update(
            connection.scalars(
                select(RefundAsk.transfer_id).where(RefundAsk.seq > since.asks, RefundAsk.seq <= until.asks)
            )
        )
    if until.seq <= since.seq:
        return News(found)
    if until.seq - since.seq > MOST_NEWS:
        return News(anything=True)
    rows = connection.execute(
        select(Event.transfer_id, Event.type).where(
            Event.seq > since.seq,
            Event.seq <= until.seq,
            or_(Event.transfer_id.is_not(None), Event.type.in_(REACH_FAR)),
        )
    ).all()
    found.update(row.transfer_id for row in rows if row.transfer_id is not None)
    return News(found, any(row.type in REACH_FAR for row in rows))


def accounts_of(connection: Connection, transfer_ids: Collection[TransferId]) -> set[str]:
    """The senders and receivers of the transfers, as ``account_key`` writes them."""
    if not transfer_ids:
        return set()
    rows = connection.execute(
        select(Transfer.sender, Transfer.receiver).where(
            is_one_of(connection, Transfer.transfer_id, transfer_ids)
        )
    )
    return {account_key(account) for row in rows for account in row if account}
