"""Finds the transfers that an account sent or received, and those that a transaction belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    bindparam,
    case,
    cast,
    false,
    func,
    literal_column,
    null,
    or_,
    select,
    true,
    union,
    union_all,
)

from app.db.types import at_most, is_in_array
from app.transfers.models import Event, PrunedTransfer, Refund, Transfer, TransferAccount, TransferHash
from app.transfers.queries.status import EVIDENCE_COLUMNS, STATUS_COLUMNS, TransferRow
from app.transfers.rules.events.event_types import TransferSent
from app.values.identifiers import ChainId, TransferId


class TransferEntry(NamedTuple):
    """A transfer. ``token`` is the source token's address, ``amount`` in source units, ``received_amount`` in
    destination units.
    """

    transfer_id: TransferId
    sender: str | None
    receiver: str | None
    token: str | None
    amount: int | None
    received_amount: int | None
    began_at: datetime | None
    updated_at: datetime
    status: TransferRow

    @classmethod
    def of(cls, *columns: Any) -> TransferEntry:
        """From the values of ``ENTRY_COLUMNS`` and maybe the columns of the evidence after them."""
        return cls._make((*columns[:_OWN], TransferRow(*columns[_OWN:])))


_OWN: Final = len(TransferEntry._fields) - 1
ENTRY_COLUMNS: Final[Sequence[Any]] = (
    *(getattr(Transfer, name) for name in TransferEntry._fields[:_OWN]),
    *STATUS_COLUMNS,
)


_EVER: Final = -(2**62)
"""Before every time, in milliseconds."""


def transfers_of_accounts(
    connection: Connection, accounts: Sequence[str], before_ms: int, size: int
) -> list[TransferEntry]:
    """The last ``size`` transfers that began before a time, newest first, and all of the last's millisecond.

    So the next page begins at a whole millisecond: no transfer is in both pages or left out. Times before
    1970, which only logs of earlier releases have, count as its first millisecond: no page begins before.

    :param accounts: distinct ``account_key`` values.
    :param before_ms: milliseconds since 1970, excluded.
    :param size: more than 0.
    """
    values = {f"account_{n}": account for n, account in enumerate(accounts)}
    found = connection.execute(_page(len(accounts)), values | {"before_ms": before_ms, "size": size})
    entries = [TransferEntry.of(*row) for row in found]
    if len(accounts) == 1:
        return entries
    return list({entry.transfer_id: entry for entry in entries}.values())


@cache
def _page(accounts: int) -> Select[*tuple[Any, ...]]:
    """Each account's list is walked from its newest end, at most ``size`` rows deep. The oldest of the newest
    ``size`` among all of them is where the page ends.
    """
    listed = TransferAccount
    size = bindparam("size", type_=Integer)
    below = listed.began_ms < bindparam("before_ms", type_=BigInteger)
    names = [bindparam(f"account_{n}", type_=listed.account.type) for n in range(accounts)]
    walks = [
        select(listed.began_ms, listed.transfer_id)
        .where(listed.account == name, below)
        .order_by(listed.began_ms.desc())
        .limit(size)
        .subquery()
        for name in names
    ]
    merged = union(*(select(walk) for walk in walks)).subquery() if accounts > 1 else walks[0]
    newest = select(merged.c.began_ms).order_by(merged.c.began_ms.desc()).limit(size).subquery()
    oldest = func.min(newest.c.began_ms)
    page_end = select(
        case((oldest > literal_column("0"), oldest), else_=literal_column(str(_EVER)))
    ).scalar_subquery()
    return (
        select(*ENTRY_COLUMNS)
        .join_from(listed, Transfer, listed.transfer_id == Transfer.transfer_id)
        .where(listed.account.in_(names) if accounts > 1 else listed.account == names[0])
        .where(below, listed.began_ms >= page_end)
        .order_by(listed.began_ms.desc(), listed.transfer_id.desc())
    )


MOST: Final = 1_000
"""The most transfers of one transaction that are read. No block has a transaction with more sends."""


def transfers_sent_by(connection: Connection, chain_id: ChainId, tx_hash: str) -> list[TransferEntry]:
    """The transfers from this chain whose log names the transaction, the earliest first.

    It may be the transaction of the send, of an orphaned or outranked send, or of a refund.
    """
    wanted = (Transfer.src_tx_hash == tx_hash,)
    return _entries(connection, _named(tx_hash, wanted).where(Transfer.src_chain_id == chain_id))


def transfers_of_key(
    connection: Connection, tx_hash: str, transfer_id: TransferId | None, chain_id: ChainId | None
) -> list[TransferEntry]:
    """The transfers with this id, or whose log names this transaction, the earliest first.

    :param transfer_id: None where the key cannot be an id.
    :param chain_id: only those of which the transaction is on this chain, or which have it as source or
        destination; None for any.
    """
    src, dst = Transfer.src_tx_hash == tx_hash, Transfer.dst_tx_hash == tx_hash
    if chain_id is not None:
        src, dst = src & (Transfer.src_chain_id == chain_id), dst & (Transfer.dst_chain_id == chain_id)
    wanted = (src, dst) if transfer_id is None else (src, dst, Transfer.transfer_id == transfer_id)
    named = _named(tx_hash, wanted)
    if chain_id is not None:
        named = named.where(or_(Transfer.src_chain_id == chain_id, Transfer.dst_chain_id == chain_id))
    return _entries(connection, named)


class NamedBy(NamedTuple):
    """A transaction, and a transfer whose log names it."""

    tx_hash: str
    transfer_id: TransferId
    sent: bool
    """Whether the transaction is the send's."""
    at: datetime
    """When the transfer was sent; where that is unknown, when its newest event happened."""


class UnknownIds(NamedTuple):
    """The known facts about ids that no transfer has: the last statuses of those that were pruned, and the
    transfers whose log names one of them as a transaction, ``MOST`` at most.
    """

    pruned: Mapping[TransferId, int]
    named: Sequence[NamedBy]


def unknown_ids(connection: Connection, transfer_ids: Sequence[TransferId]) -> UnknownIds:
    values = {"transfer_ids": list(transfer_ids), "tx_hashes": [f"0x{each.hex()}" for each in transfer_ids]}
    query = _OF_UNKNOWN if connection.dialect.name == "postgresql" else _OF_UNKNOWN_VALUES
    pruned, named = dict[TransferId, int](), list[NamedBy]()
    for tx_hash, transfer_id, sent, at, status in connection.execute(query, values):
        if status is None:
            named.append(NamedBy(tx_hash, transfer_id, sent, at))
        else:
            pruned[transfer_id] = status
    return UnknownIds(pruned, named)


def _of_unknown(is_one_of: Callable[[Any, str], ColumnElement[bool]]) -> Select[*tuple[Any, ...]]:
    """``is_one_of`` is the condition that a column has one of the values of a parameter."""
    hashes = Transfer.src_tx_hash, Transfer.dst_tx_hash, TransferHash.tx_hash
    ids = union_all(
        *(
            select(
                column.label("tx_hash"),
                column.class_.transfer_id.label("transfer_id"),
                (true() if column is Transfer.src_tx_hash else false()).label("sent"),
            ).where(is_one_of(column, "tx_hashes"))
            for column in hashes
        )
    ).subquery()
    at = func.coalesce(Transfer.sent_at, Transfer.updated_at).label("at")
    named = (
        select(ids.c.tx_hash, ids.c.transfer_id, ids.c.sent, at)
        .join_from(ids, Transfer, ids.c.transfer_id == Transfer.transfer_id)
        .limit(at_most(MOST))
        .subquery()
    )
    pruned = select(null(), PrunedTransfer.transfer_id, null(), null(), PrunedTransfer.status)
    found = union_all(
        # First: PostgreSQL takes the types of the columns from it.
        select(*named.c, cast(null(), PrunedTransfer.status.type).label("status")),
        pruned.where(is_one_of(PrunedTransfer.transfer_id, "transfer_ids")),
    ).subquery()
    return select(found)


_OF_UNKNOWN: Final = _of_unknown(is_in_array)
_OF_UNKNOWN_VALUES: Final = _of_unknown(lambda column, name: column.in_(bindparam(name, expanding=True)))


def send_ids(connection: Connection, transfer_ids: Sequence[TransferId]) -> Mapping[TransferId, str]:
    """The id of the earliest send that each transfer's log has; those without a log are left out."""
    sends = (
        select(Event.transfer_id, Event.event_id)
        .where(Event.transfer_id.in_(transfer_ids), Event.type == TransferSent.type)
        .order_by(Event.at.desc(), Event.event_id.desc())
    )
    return {row.transfer_id: row.event_id for row in connection.execute(sends)}


def _named(tx_hash: str, wanted: Sequence[object]) -> Select[*tuple[object, ...]]:
    # Each condition has an index of its own, so the ids are found one condition at a time.
    ids = union(
        *(select(Transfer.transfer_id).where(condition) for condition in wanted),  # type: ignore[arg-type]
        select(TransferHash.transfer_id).where(TransferHash.tx_hash == tx_hash),
    ).subquery()
    return (
        select(*ENTRY_COLUMNS, *EVIDENCE_COLUMNS)
        .join_from(ids, Transfer, ids.c.transfer_id == Transfer.transfer_id)
        .join(Refund, Transfer.transfer_id == Refund.transfer_id, isouter=True)
    )


def _entries(connection: Connection, named: Select[*tuple[object, ...]]) -> list[TransferEntry]:
    earliest = named.order_by(Transfer.began_at, Transfer.transfer_id).limit(MOST)
    return [TransferEntry.of(*row) for row in connection.execute(earliest)]
