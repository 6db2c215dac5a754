"""Whose refund was requested, and which withdraw ids do refund requests have?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, select, union_all

from app.db.types import is_one_of
from app.refunds.models import PrunedWithdraw, RefundAsk, WithdrawDone, WithdrawId
from app.refunds.request import NO_TRANSFER
from app.transfers.models import Transfer
from app.values.codes import TransferHistoryStatus
from app.values.identifiers import ChainId, TransferId


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


_TAKEN: Final = (
    TransferHistoryStatus.TRANSFER_CONFIRMING_YOUR_REFUND.value,
    TransferHistoryStatus.TRANSFER_REFUNDED.value,
)

CHUNK: Final = 500
"""Ids looked for in one statement."""


def ids_of_transfers(
    connection: Connection, transfer_ids: Collection[bytes]
) -> dict[TransferId, dict[bytes, bool]]:
    """By transfer its withdraw ids, each with whether it was paid under it."""
    found: dict[TransferId, dict[bytes, bool]] = defaultdict(dict)
    rows = connection.execute(
        select(WithdrawId.transfer_id, WithdrawId.withdraw_id, WithdrawId.paid).where(
            WithdrawId.transfer_id.in_(transfer_ids)
        )
    )
    for row in rows:
        found[row.transfer_id][bytes(row.withdraw_id)] = row.paid
    return found


def paid_for(connection: Connection, ids: Collection[bytes]) -> dict[bytes, set[TransferId]]:
    """By withdraw id the transfers whose refunds were paid under it, pruned ones included."""
    found: dict[bytes, set[TransferId]] = defaultdict(set)
    wanted = sorted(ids)
    for start in range(0, len(wanted), CHUNK):
        asked = wanted[start : start + CHUNK]
        rows = connection.execute(
            union_all(
                select(WithdrawId.withdraw_id, WithdrawId.transfer_id).where(
                    WithdrawId.withdraw_id.in_(asked), WithdrawId.paid
                ),
                select(PrunedWithdraw.withdraw_id, PrunedWithdraw.transfer_id).where(
                    PrunedWithdraw.withdraw_id.in_(asked)
                ),
            )
        )
        for row in rows:
            found[bytes(row.withdraw_id)].add(row.transfer_id)
    return found


def used_on_chains(
    connection: Connection, ids: Collection[bytes]
) -> dict[tuple[bytes, ChainId], set[TransferId]]:
    """By withdraw id and chain, for which transfers blocks show it used up; NO_TRANSFER for liquidity."""
    found: dict[tuple[bytes, ChainId], set[TransferId]] = defaultdict(set)
    wanted = sorted(ids)
    for start in range(0, len(wanted), CHUNK):
        asked = WithdrawDone.withdraw_id.in_(wanted[start : start + CHUNK])
        for row in connection.execute(select(WithdrawDone.__table__).where(asked)):
            found[bytes(row.withdraw_id), row.chain_id].add(row.ref_id or NO_TRANSFER)
    return found


class UsedId(NamedTuple):
    """An id that an event of a chain uses up, and the transfer it was used up for; None for liquidity."""

    withdraw_id: bytes
    ref_id: TransferId | None


def used_by_events(
    connection: Connection, chain_id: ChainId, event_ids: Collection[str]
) -> dict[str, UsedId]:
    """What is noted of events of a chain, by their id."""
    of_events = is_one_of(connection, WithdrawDone.event_id, event_ids)
    rows = connection.execute(
        select(WithdrawDone.__table__).where(WithdrawDone.chain_id == chain_id, of_events)
    )
    return {row.event_id: UsedId(bytes(row.withdraw_id), row.ref_id) for row in rows}


def transfers_with_ids(connection: Connection, ids: Collection[bytes]) -> set[TransferId]:
    """The transfers that have a request with one of these ids."""
    found: set[TransferId] = set()
    wanted = sorted(ids)
    for start in range(0, len(wanted), CHUNK):
        asked = WithdrawId.withdraw_id.in_(wanted[start : start + CHUNK])
        found.update(connection.scalars(select(WithdrawId.transfer_id).where(asked)))
    return found


def refunded_by_one_of_several(connection: Connection, src_chain_ids: Collection[int]) -> Sequence[bytes]:
    """Transfers from these chains whose withdraw was taken, and whose requests have several withdraw ids."""
    several = select(WithdrawId.transfer_id).group_by(WithdrawId.transfer_id).having(func.count() > 1)
    return connection.scalars(
        select(Transfer.transfer_id).where(
            Transfer.transfer_id.in_(several),
            Transfer.src_chain_id.in_(src_chain_ids),
            Transfer.status.in_(_TAKEN),
        )
    ).all()
