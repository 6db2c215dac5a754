"""Transfers as histories and look-ups list them: where each is, and what it moves for whom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from app.domain.keys import TransferId
from app.models.transfers import Transfer
from app.queries.transfers.status import STATUS_COLUMNS, TransferRow


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
