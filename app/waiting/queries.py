"""Reads from the journal of statuses what changed, for clients that wait."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, false, func, or_, select

from app.db.types import is_one_of
from app.feed.models import JournalRow
from app.transfers.models import Event, Transfer, TransferAccount
from app.transfers.rules.published_changes import Position
from app.values.identifiers import TransferId, account_key


class Heads(NamedTuple):
    """How far the log of events and the journal of statuses reach; 0 where there is nothing.

    :param later: the number of the newest change where it came later than the log's last entry; else 0.
    :param taken_in_at: when the newest event was accepted.
    """

    seq: int
    changes: int
    later: int = 0
    taken_in_at: datetime | None = None


def _of_newest(column: Any) -> Any:
    of_transfer = select(column).where(JournalRow.transfer_id.is_not(None))
    return of_transfer.order_by(JournalRow.sequence.desc()).limit(1).scalar_subquery()


_HEADS: Final = select(
    select(func.max(Event.seq)).scalar_subquery(),
    select(func.max(JournalRow.sequence)).scalar_subquery(),
    _of_newest(JournalRow.sequence),
    _of_newest(JournalRow.seq),
    _of_newest(JournalRow.is_later),
    select(Event.received_at).order_by(Event.seq.desc()).limit(1).scalar_subquery(),
)


def load_heads(connection: Connection) -> Heads:
    """The :class:`Heads`, in one statement."""
    last, changes, newest, seq, is_later, taken_in_at = connection.execute(_HEADS).one()
    later = newest if is_later and seq >= (last or 0) else 0
    return Heads(max(last or 0, seq or 0), changes or 0, later, taken_in_at)


class Changed(Struct, frozen=True):
    """The transfers that changed, and the accounts that no longer list some of them."""

    transfers: frozenset[TransferId] = frozenset()
    accounts: frozenset[str] = frozenset()


def changed_since(connection: Connection, since: Heads, until: Heads) -> Changed:
    if until.changes <= since.changes:
        return Changed()
    rows = connection.execute(
        select(JournalRow.transfer_id, JournalRow.accounts_before).where(
            JournalRow.sequence > since.changes, JournalRow.sequence <= until.changes
        )
    ).all()
    return Changed(
        frozenset(row.transfer_id for row in rows if row.transfer_id is not None),
        frozenset(account for row in rows for account in row.accounts_before or ()),
    )


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


class Beginning(NamedTuple):
    """Where the journal begins, if not with the log: how far the log reached then, and the time."""

    seq: int
    at: datetime


def beginning(connection: Connection) -> Beginning | None:
    """The beginning of the journal; None if it is as old as the log."""
    query = select(JournalRow.seq, JournalRow.at).where(JournalRow.transfer_id.is_(None), JournalRow.seq > 0)
    row = connection.execute(query).first()
    return None if row is None else Beginning(row.seq, row.at)


class StatusBefore(NamedTuple):
    """The status of a transfer when the journal began, and the position of its first change since."""

    status: int
    refund_reason: int
    changed_at: int | None = None


def status_before(connection: Connection, transfer_id: TransferId) -> StatusBefore | None:
    """The status before the journal; None if unknown. The reason is 0 where the status changed since."""
    of_transfer = JournalRow.transfer_id == transfer_id
    first = connection.execute(
        select(JournalRow.previous_status, JournalRow.seq)
        .where(of_transfer)
        .order_by(JournalRow.sequence)
        .limit(1)
    ).first()
    if first is not None:
        return StatusBefore(first.previous_status, 0, first.seq)
    query = select(Transfer.status, Transfer.refund_reason).where(Transfer.transfer_id == transfer_id)
    row = connection.execute(query).first()
    return None if row is None else StatusBefore(*row)


JournalRows = Sequence[Row[*tuple[Any, ...]]]
"""Rows of the journal, each with the sender and the receiver that its transfer has now."""

_ROWS: Final = (
    select(*JournalRow.__table__.columns, Transfer.sender, Transfer.receiver)
    .join_from(JournalRow, Transfer, JournalRow.transfer_id == Transfer.transfer_id, isouter=True)
    .order_by(JournalRow.sequence)
)


def changes_of_transfer(connection: Connection, transfer_id: TransferId, since: Position) -> JournalRows:
    """The changes of a transfer, from a position's entry of the log on."""
    query = _ROWS.where(JournalRow.transfer_id == transfer_id, JournalRow.seq >= since.seq)
    return connection.execute(query).all()


MOST_BEHIND: Final = 50_000
"""The most changes that are searched for those of an account. A busy feed makes as many in minutes."""

MOST_OF_ACCOUNT: Final = 1_000
"""Changes of an account's transfers that are sent at once."""


def changes_of_account(
    connection: Connection, account: str, since: Position, until: Heads
) -> JournalRows | None:
    """The changes of all transfers that an account lists or listed, from a position's entry of the log on;
    None if there are too many.

    :param account: as ``account_key`` writes it.
    """
    came = JournalRow.seq >= since.seq
    first = connection.scalar(select(func.min(JournalRow.sequence)).where(came))
    if first is None:
        return ()
    if until.changes - first >= MOST_BEHIND:
        return None
    relisted = connection.execute(
        select(JournalRow.transfer_id, JournalRow.accounts_before).where(
            came, JournalRow.accounts_before.is_not(None)
        )
    )
    was_listed = {row.transfer_id for row in relisted if account in row.accounts_before}
    named = is_one_of(connection, JournalRow.transfer_id, was_listed) if was_listed else false()
    query = _ROWS.where(came, or_(_is_listed_under(account), named)).limit(MOST_OF_ACCOUNT + 1)
    rows = connection.execute(query).all()
    return None if len(rows) > MOST_OF_ACCOUNT else rows


def _is_listed_under(account: str) -> ColumnElement[bool]:
    if account.isascii():
        return or_(func.lower(Transfer.sender) == account, func.lower(Transfer.receiver) == account)
    # Databases differ in the lower case of other letters.
    listed = select(TransferAccount.transfer_id).where(TransferAccount.account == account)
    return Transfer.transfer_id.in_(listed)
