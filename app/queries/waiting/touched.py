"""Which transfers of an account may entries of the log have changed?"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, func, or_, select

from app.domain.codes import TransferHistoryStatus as Status
from app.domain.following.position import Position
from app.domain.keys import TransferId
from app.domain.transfer.event_types import EventType
from app.domain.transfer.events import EventsRetracted
from app.domain.transfer.subjects import transfer_of_subject
from app.models.events import Event, TransferBlock
from app.models.refunds.asks import RefundAsk
from app.models.transfers import Transfer, TransferAccount
from app.queries.feed.codec import decode_event
from app.queries.waiting.news import REACH_FAR, Heads

MOST_BEHIND: Final = 50_000
"""Entries of the log that are searched for an account's transfers: what a busy feed takes in a minute."""

MOST_TRANSFERS: Final = 200
"""Transfers of an account whose pasts are read for one answer. Anybody may request it, so it takes 50 ms at
most."""

MOST_TO_READ: Final = 800
"""Entries of all their pasts together that are read for one answer."""

_OF_A_ROUTE: Final = "route:"
"""How a subject begins that no status follows from."""

_RETRACTED: Final = EventType.EVENTS_RETRACTED.value
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
    asked = select(RefundAsk.transfer_id).where(RefundAsk.log_seq >= since.seq)
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
    lowest = func.min(Event.block).filter(Event.type == EventType.CHAIN_REORGED.value)
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
