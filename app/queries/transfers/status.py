"""At which status are transfers, and which evidence serves their refunds?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import Connection, bindparam, select

from app.domain.keys import BlockNumber, ChainId, TransferId
from app.models.connections.direct import DirectSelect
from app.models.pruned import PrunedTransfer
from app.models.transfers import Refund, Transfer


class TransferRow(NamedTuple):
    """The columns that a status answer is made of. The last four are the refund's evidence, or not there."""

    status: int
    refund_reason: int
    kind: str | None
    src_chain_id: ChainId | None
    dst_chain_id: ChainId | None
    symbol: str | None
    src_tx_hash: str | None
    dst_tx_hash: str | None
    sent_at: datetime | None
    status_since: datetime | None
    settled_block: BlockNumber | None
    wd_onchain: bytes | None = None
    sorted_sigs: Sequence[str] = ()
    signers: Sequence[str] = ()
    powers: Sequence[str] = ()


STATUS_COLUMNS: Final = (
    Transfer.status,
    Transfer.refund_reason,
    Transfer.kind,
    Transfer.src_chain_id,
    Transfer.dst_chain_id,
    Transfer.symbol,
    Transfer.src_tx_hash,
    Transfer.dst_tx_hash,
    Transfer.sent_at,
    Transfer.status_since,
    Transfer.settled_block,
)
EVIDENCE_COLUMNS: Final = (Refund.wd_onchain, Refund.sorted_sigs, Refund.signers, Refund.powers)

_WITH_EVIDENCE = select(*STATUS_COLUMNS, *EVIDENCE_COLUMNS).join_from(
    Transfer, Refund, Transfer.transfer_id == Refund.transfer_id, isouter=True
)
_STATUS = DirectSelect(
    _WITH_EVIDENCE.where(Transfer.transfer_id == bindparam("transfer_id")),
    TransferRow,
)
_STATUSES = _WITH_EVIDENCE.add_columns(Transfer.transfer_id).where(
    Transfer.transfer_id.in_(bindparam("transfer_ids", expanding=True))
)
_PRUNED = select(PrunedTransfer.transfer_id, PrunedTransfer.status).where(
    PrunedTransfer.transfer_id.in_(bindparam("transfer_ids", expanding=True))
)


def transfer_row(connection: Connection, transfer_id: TransferId) -> TransferRow | None:
    """The transfer with its refund's evidence, None for an unknown id."""
    return _STATUS.first(connection, {"transfer_id": transfer_id})


def transfer_rows(
    connection: Connection, transfer_ids: Sequence[TransferId]
) -> Mapping[TransferId, TransferRow]:
    """Those of the transfers that are known, in one statement."""
    found = connection.execute(_STATUSES, {"transfer_ids": list(transfer_ids)})
    return {row.transfer_id: TransferRow(*row[:-1]) for row in found}


def pruned_statuses(connection: Connection, transfer_ids: Sequence[TransferId]) -> Mapping[TransferId, int]:
    """The statuses that transfers had when they were pruned, of those that were."""
    found = connection.execute(_PRUNED, {"transfer_ids": list(transfer_ids)})
    return {row.transfer_id: row.status for row in found}
