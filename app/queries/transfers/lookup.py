"""Which transfers have this id, or name this transaction?"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select, union

from app.models.transfers import Transfer, TransferHash
from app.queries.transfers.listing import COLUMNS, ListedTransfer


def transfers_of_hash(connection: Connection, tx_hash: str, size: int) -> Sequence[ListedTransfer]:
    """The transfers whose log names this transaction, the last changed first."""
    named = (
        select(Transfer.transfer_id).where(Transfer.src_tx_hash == tx_hash),
        select(Transfer.transfer_id).where(Transfer.dst_tx_hash == tx_hash),
        select(TransferHash.transfer_id).where(TransferHash.tx_hash == tx_hash),
    )
    found = union(*(select(each.limit(size).subquery()) for each in named))
    return transfers_with_ids(connection, connection.scalars(found).all()[:size])


def transfers_with_ids(connection: Connection, transfer_ids: Sequence[bytes]) -> Sequence[ListedTransfer]:
    """These of the transfers that are known, the last changed first."""
    at, transfer_id = Transfer.updated_at, Transfer.transfer_id
    known = select(*COLUMNS).where(transfer_id.in_(transfer_ids))
    return connection.execute(known.order_by(at.desc(), transfer_id.desc())).all()
