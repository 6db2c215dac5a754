"""Writing under which accounts transfers are listed."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, delete

from app.domain.transfer.effects import AccountEntry, account_entries
from app.domain.transfer.state import TransferState
from app.models.connections.append import append
from app.models.transfers import TransferAccount


def write_account_entries(
    connection: Connection, before: Iterable[TransferState], after: Iterable[TransferState]
) -> None:
    """Put the entries of ``after`` in the place of those of ``before``; what is in both is left alone."""
    old, new = account_entries(before), account_entries(after)
    if gone := old - new:
        of_entry = (
            getattr(TransferAccount, name) == bindparam(f"old_{name}") for name in AccountEntry._fields
        )
        connection.execute(
            delete(TransferAccount).where(*of_entry),
            [{f"old_{name}": value for name, value in entry._asdict().items()} for entry in sorted(gone)],
        )
    append(connection, TransferAccount, [entry._asdict() for entry in sorted(new - old)])
