"""Finds transfers whose withdraw id was used up by the refund of another transfer.

A transfer's ids, and whether it was paid under them, follow only from its own events. The effects of
transfers on each other follow from these ids. So their order does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from sqlalchemy import Connection, delete, insert

from app.db.types import is_one_of
from app.refunds.models import PrunedWithdraw, WithdrawDone, WithdrawId
from app.refunds.queries import UsedId, ids_of_transfers, paid_for, transfers_with_ids, used_on_chains
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.projected import TransferState
from app.transfers.rules.refunds.request_message import PaidIds, paid_elsewhere, withdraw_ids_of
from app.values.identifiers import ChainId, TransferId


class WithdrawIds(Struct):
    """The changes of withdraw ids by a projection of transfers that have or had them."""

    old: dict[TransferId, dict[bytes, bool]] = field(default_factory=dict)
    new: dict[TransferId, dict[bytes, bool]] = field(default_factory=dict)
    paid_before: dict[bytes, set[TransferId]] = field(default_factory=dict)
    paid: dict[bytes, set[TransferId]] = field(default_factory=dict)
    used: Mapping[tuple[bytes, ChainId], set[TransferId]] = field(default_factory=dict)
    chains: Mapping[bytes, ChainId] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        connection: Connection,
        histories: Sequence[TransferHistory],
        states: Mapping[TransferId, TransferState],
    ) -> WithdrawIds:
        """Compare the stored ids with the new ones. Nothing is read where no refund is prepared."""
        refunds = [history.transfer_id for history in histories if history.has_request]
        if not refunds:
            return cls()
        found = cls(
            ids_of_transfers(connection, refunds),
            {transfer_id: dict(states[transfer_id].withdraw_ids) for transfer_id in refunds},
        )
        ids = {each for of in (found.old, found.new) for known in of.values() for each in known}
        found.paid_before, found.used = paid_for(connection, ids), used_on_chains(connection, ids)
        found.chains = withdraw_ids_of(request for history in histories for request in history.requests)
        for each in ids:
            others = found.paid_before.get(each, set()) - found.new.keys()
            now = {transfer_id for transfer_id, known in found.new.items() if known.get(each)}
            found.paid[each] = others | now
        return found

    def paid_elsewhere(self, transfer_id: TransferId) -> PaidIds:
        """The ids of a projected transfer that other transfers were paid under."""
        ids = {each: self.chains[each] for each in self.new.get(transfer_id, ())}
        return paid_elsewhere(transfer_id, ids, self.paid, self.used)

    def write(self, connection: Connection) -> None:
        """The rows of the transfers must exist."""
        changed = [i for i, known in self.new.items() if known != self.old.get(i, {})]
        if not changed:
            return
        connection.execute(delete(WithdrawId).where(WithdrawId.transfer_id.in_(changed)))
        rows = [
            {"transfer_id": transfer_id, "withdraw_id": each, "paid": paid}
            for transfer_id in changed
            for each, paid in self.new[transfer_id].items()
        ]
        if rows:
            connection.execute(insert(WithdrawId), rows)

    def others_to_project(self, connection: Connection) -> set[TransferId]:
        """Further transfers to project, because an id of theirs was paid for another one, or no longer is."""
        changed = [
            each
            for each, paid in self.paid.items()
            if _lowest_two(paid) != _lowest_two(self.paid_before.get(each, ()))
        ]
        return transfers_with_ids(connection, changed) - self.new.keys()


def write_used(
    connection: Connection, chain_id: ChainId, gone: Collection[str], new: Mapping[str, UsedId]
) -> None:
    """Write which ids events of a chain use up. ``gone``: events that no longer use up their id, or use up
    another one; ``new`` is by event id.
    """
    if gone:
        of_events = is_one_of(connection, WithdrawDone.event_id, gone)
        connection.execute(delete(WithdrawDone).where(WithdrawDone.chain_id == chain_id, of_events))
    rows = [{"chain_id": chain_id, "event_id": each, **used._asdict()} for each, used in new.items()]
    if rows:
        connection.execute(insert(WithdrawDone), rows)


def store_paid_ids(connection: Connection, transfer_ids: Collection[bytes]) -> None:
    """Store the ids under which transfers were paid that are about to be pruned."""
    rows: list[dict[str, Any]] = [
        {"withdraw_id": each, "transfer_id": transfer_id}
        for transfer_id, known in ids_of_transfers(connection, transfer_ids).items()
        for each, paid in known.items()
        if paid
    ]
    if rows:
        connection.execute(insert(PrunedWithdraw), rows)


def _lowest_two(paid: Collection[TransferId]) -> list[TransferId]:
    """All that matters to others of the transfers paid under an id: each sees the lowest but itself."""
    return sorted(paid)[:2]
