"""At which status is a transfer, and which evidence serves its refund?"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from app.domain.keys import ChainId, TransferId
from app.models.direct import DirectSelect
from app.models.pruned import PrunedTransfer
from app.models.transfers import Refund, Transfer


class TransferRow(NamedTuple):
    """The columns that a status answer is made of. The last four are the refund's evidence, or None."""

    status: int
    refund_reason: int
    kind: str | None
    src_chain_id: ChainId | None
    dst_chain_id: ChainId | None
    symbol: str | None
    src_tx_hash: str | None
    dst_tx_hash: str | None
    wd_onchain: bytes | None
    sorted_sigs: list[str]
    signers: list[str]
    powers: list[str]


_STATUS = DirectSelect(
    select(
        Transfer.status,
        Transfer.refund_reason,
        Transfer.kind,
        Transfer.src_chain_id,
        Transfer.dst_chain_id,
        Transfer.symbol,
        Transfer.src_tx_hash,
        Transfer.dst_tx_hash,
        Refund.wd_onchain,
        Refund.sorted_sigs,
        Refund.signers,
        Refund.powers,
    )
    .join_from(Transfer, Refund, Transfer.transfer_id == Refund.transfer_id, isouter=True)
    .where(Transfer.transfer_id == bindparam("transfer_id")),
    TransferRow,
)
_PRUNED = select(PrunedTransfer.status).where(PrunedTransfer.transfer_id == bindparam("transfer_id"))


def transfer_row(connection: Connection, transfer_id: TransferId) -> TransferRow | None:
    """The transfer with its refund's evidence, None for an unknown id."""
    return _STATUS.first(connection, {"transfer_id": transfer_id})


def pruned_status(connection: Connection, transfer_id: TransferId) -> int | None:
    """The status that a transfer had when it was pruned, None where it was not."""
    return connection.scalar(_PRUNED, {"transfer_id": transfer_id})
