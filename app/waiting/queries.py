"""What has come into the log, for those who wait?"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final, NamedTuple

from msgspec import Struct, field
from sqlalchemy import ColumnElement, Connection, func, or_, select

from app.db.types import is_one_of
from app.feed.models import TransferBlock
from app.refunds.models import UserRefundRequest
from app.transfers.codec import decode_event
from app.transfers.events import (
    ChainReorged,
    EventsRetracted,
    LiquidityWithdrawn,
    ValidatorsUpdated,
    WithdrawDone,
)
from app.transfers.models import Event, Transfer, TransferAccount
from app.transfers.status_changes import Position
from app.transfers.subjects import transfer_of_subject
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import TransferId, account_key

MOST_NEWS: Final = 5_000
"""Entries of the log that are looked at in one question. Where there are more, anything may have changed."""

REACH_FAR: Final = (
    ChainReorged.type,
    ValidatorsUpdated.type,
    EventsRetracted.type,
    WithdrawDone.type,
    LiquidityWithdrawn.type,
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
    select(func.max(UserRefundRequest.seq)).scalar_subquery(),
    select(Event.received_at).order_by(Event.seq.desc()).limit(1).scalar_subquery(),
)


class News(Struct, frozen=True):
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
                select(UserRefundRequest.transfer_id).where(
                    UserRefundRequest.seq > since.asks, UserRefundRequest.seq <= until.asks
                )
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


MOST_BEHIND: Final = 50_000
"""Entries of the log that are searched for an account's transfers: what a busy feed takes in a minute."""

MOST_TRANSFERS: Final = 200
"""Transfers of an account whose pasts are read for one answer. Anybody may request it, so it takes 50 ms at
most."""

MOST_TO_READ: Final = 800
"""Entries of all their pasts together that are read for one answer."""

_OF_A_ROUTE: Final = "route:"
"""How a subject begins that no status follows from."""

_RETRACTED: Final = EventsRetracted.type
_BY_VALIDATORS: Final = (
    Status.TRANSFER_TO_BE_REFUNDED,
    Status.TRANSFER_REQUESTING_REFUND,
    Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
)
"""Where a rotation of the validators may lead to, or from."""


def transfers_of_account(
    connection: Connection, account: str, since: Position, until: Heads
) -> set[TransferId] | None:
    """The transfers of an account whose status may have changed from a position on.

    None where too much came to say which, or something came that may have changed any.

    :param account: as ``account_key`` writes it.
    """
    if until.seq - since.seq > MOST_BEHIND:
        return None
    came = (Event.seq >= since.seq, Event.seq <= until.seq)
    found = _retracted(connection, came)
    if found is None:
        return None
    named = select(Event.transfer_id).where(*came, Event.transfer_id.is_not(None))
    asked = select(UserRefundRequest.transfer_id).where(UserRefundRequest.log_seq >= since.seq)
    touched: list[ColumnElement[bool]] = [Transfer.transfer_id.in_(named), Transfer.transfer_id.in_(asked)]
    for chain_id, reorged_from in _chains(connection, came).items():
        by_validators = Transfer.status.in_([int(status) for status in _BY_VALIDATORS])
        touched.append((Transfer.src_chain_id == chain_id) & by_validators)
        if reorged_from is not None:
            reached = (TransferBlock.chain_id == chain_id) & (TransferBlock.highest >= reorged_from)
            touched.append(Transfer.transfer_id.in_(select(TransferBlock.transfer_id).where(reached)))
    for condition in touched:
        listed = select(Transfer.transfer_id).where(condition, _is_listed_under(account))
        found |= set(connection.scalars(listed.limit(MOST_TRANSFERS + 1)))
        if len(found) > MOST_TRANSFERS:
            return None
    return found


def _retracted(connection: Connection, came: tuple[ColumnElement[bool], ...]) -> set[TransferId] | None:
    """The transfers of which events were retracted; None where others were, or nobody says which."""
    found: set[TransferId] = set()
    query = select(Event.event_id, Event.type, Event.body).where(*came, Event.type == _RETRACTED)
    for row in connection.execute(query):
        of_transfers = _transfers_named_by(decode_event(row.event_id, row.type, row.body))
        if of_transfers is None:
            return None
        found |= of_transfers
    return found


def _transfers_named_by(retraction: Any) -> set[TransferId] | None:
    """The transfers whose events it names; None where it names anything else, or does not say."""
    assert isinstance(retraction, EventsRetracted)  # noqa: S101  they were selected
    subjects = retraction.subjects or ("",)
    found = {transfer_of_subject(each) for each in subjects if not each.startswith(_OF_A_ROUTE)}
    return None if None in found else {TransferId(each) for each in found if each is not None}


def _chains(connection: Connection, came: tuple[ColumnElement[bool], ...]) -> dict[int, int | None]:
    """The chains of which something came that reaches far, with the lowest block that was reorganised."""
    lowest = func.min(Event.block).filter(Event.type == ChainReorged.type)
    rows = connection.execute(
        select(Event.chain_id, lowest.label("block"))
        .where(*came, Event.type.in_(REACH_FAR), Event.chain_id.is_not(None))
        .group_by(Event.chain_id)
    )
    return {row.chain_id: row.block for row in rows}


def _is_listed_under(account: str) -> ColumnElement[bool]:
    if account.isascii():
        return or_(func.lower(Transfer.sender) == account, func.lower(Transfer.receiver) == account)
    # What a database takes for the lower case of other letters differs.
    listed = select(TransferAccount.transfer_id).where(TransferAccount.account == account)
    return Transfer.transfer_id.in_(listed)
