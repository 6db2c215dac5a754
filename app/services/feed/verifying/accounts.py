"""Lists of accounts: is there an entry that no transfer has?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, tuple_

from app.domain.transfer.effects import AccountEntry, account_entries
from app.models.transfers import TransferAccount
from app.queries.feed.transfers import load_states, stored_entries
from app.services.feed.verifying.differences import Difference, differences

_KEY = tuple_(*(getattr(TransferAccount, name) for name in AccountEntry._fields))


def compare_entries(connection: Connection, entries: Sequence[AccountEntry]) -> list[Difference]:
    """Which of the entries are there and of no transfer. Those that are missing are found by transfer."""
    there = stored_entries(connection, entries)
    states = load_states(connection, {entry.transfer_id for entry in there})
    right = account_entries(states.values())
    stored, expected = (
        [entry._asdict() for entry in sorted(some)] for some in (there, there.intersection(right))
    )
    return list(differences(TransferAccount, stored, expected))


def remove_entries(connection: Connection, found: Iterable[Difference], _now: datetime) -> None:
    """Remove them."""
    keys = [tuple(each.key[name] for name in AccountEntry._fields) for each in found]
    connection.execute(delete(TransferAccount).where(_KEY.in_(keys)))
