"""Which accounts a transfer is listed under, and at what time (docs/interface.md#transfer-history)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from app.domain.keys import TransferId, account_key
from app.domain.times import unix_milliseconds
from app.domain.transfer.state import TransferState


class AccountEntry(NamedTuple):
    """A transfer in the list of one of its accounts; times in milliseconds since 1970."""

    account: str
    began_ms: int
    transfer_id: TransferId


def account_entries(states: Iterable[TransferState]) -> set[AccountEntry]:
    """The entries of transfers: one for the sender and one for the receiver, where these differ."""
    return {
        AccountEntry(account_key(account), unix_milliseconds(state.began_at), state.transfer_id)
        for state in states
        if state.began_at is not None
        for account in (state.sender, state.receiver)
        if account
    }
