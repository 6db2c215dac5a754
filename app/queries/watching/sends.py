"""Which transfers come from a chain, of those that payouts there refer to?"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, or_, select

from app.domain.codes import SendKind
from app.domain.keys import ChainId, TransferId
from app.domain.watching.network import KnownSend
from app.models.choice import is_one_of
from app.models.transfers import Transfer
from app.queries.feed.pruned import pruned_transfers


def known_sends(
    connection: Connection, chain_id: ChainId, transfer_ids: Collection[TransferId]
) -> dict[TransferId, KnownSend]:
    """Those that are known, or were before they were pruned, and are not known to come from another chain."""
    asked = select(Transfer.transfer_id, Transfer.kind, Transfer.dst_chain_id).where(
        is_one_of(connection, Transfer.transfer_id, transfer_ids),
        or_(Transfer.src_chain_id == chain_id, Transfer.src_chain_id.is_(None)),
    )
    pruned = pruned_transfers(connection, transfer_ids)
    return {TransferId(transfer_id): KnownSend() for transfer_id in pruned} | {
        row.transfer_id: KnownSend(SendKind(row.kind) if row.kind else None, row.dst_chain_id)
        for row in connection.execute(asked)
    }
