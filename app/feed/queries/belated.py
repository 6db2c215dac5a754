"""Finds the events that a reorganisation repeated too late may remove again.

The rule is in ``app.transfers.rules.events.reorganisations``. These queries find the events by their blocks,
among all that was reported since.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from app.feed.queries.chains import orphaned_keys
from app.feed.queries.log import latest_acceptances
from app.refunds.queries import load_histories
from app.transfers.models import Event
from app.transfers.queries.logged import first_reorgs
from app.transfers.rules.events.canonical import orphaned_by
from app.transfers.rules.events.counting import Logged, is_retracted
from app.transfers.rules.events.event_types import EVENT_CLASSES, BlockEvent, ChainEvent, ChainReorged
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.events.reorganisations import Reorg
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.validation import LatestAcceptance


def accepted_again(connection: Connection, reorg: Reorg) -> Sequence[Row[*tuple[Any, ...]]]:
    """The acceptances that a belated reorg may reach: further ones, of events that were known before.

    They are found by their blocks. Those about transfers may be of any chain.
    """
    again = (
        select(Event.seq, Event.event_id, Event.subject, Event.type, Event.transfer_id, Event.block, Event.at)
        .where(Event.block >= reorg.from_block, Event.block <= reorg.to_block, Event.occurrence > 0)
        # Expressions that no index has, so that the events are found by their blocks.
        .where(Event.seq + 0 > reorg.before, Event.seq + 0 < reorg.seq)
    )
    of_chain = again.where(Event.chain_id == reorg.chain_id, Event.type.in_(_types_of(ChainEvent)))
    of_transfers = again.where(Event.chain_id.is_(None), Event.type.in_(_types_of(BlockEvent)))
    return [*connection.execute(of_chain), *connection.execute(of_transfers)]


def _types_of(base: type[BlockEvent | ChainEvent]) -> list[str]:
    return [event_type for event_type, each in EVENT_CLASSES.items() if issubclass(each, base)]


def take_again(connection: Connection, belated: Collection[ChainReorged], seq: int) -> dict[EventKey, bool]:
    """Whether each reorg that is repeated too late removes anything again.

    :param seq: the position that it gets in the log.
    """
    first = first_reorgs(connection, {event.key for event in belated})
    return {
        event.key: _takes_any(
            connection, Reorg(seq, event.chain_id, event.from_block, first.get(event.key, 0))
        )
        for event in belated
    }


def _takes_any(connection: Connection, reorg: Reorg) -> bool:
    """Whether there is anything canonical for a belated reorg to take back.

    So may be what is about a transfer whose chains are not known yet.
    """
    again = accepted_again(connection, reorg)
    of_chain = {EventKey(row.subject, row.event_id) for row in again if row.transfer_id is None}
    latest = latest_acceptances(connection, of_chain)
    canonical = latest.keys() - orphaned_keys(connection, latest.values())
    if any(_takes(reorg, latest[key]) for key in canonical):
        return True
    transfer_ids = {row.transfer_id for row in again if row.transfer_id is not None}
    histories = load_histories(connection, transfer_ids) if transfer_ids else {}
    return any(_takes_any_of(history, reorg) for history in histories.values())


def _takes(reorg: Reorg, latest: LatestAcceptance) -> bool:
    event = latest.event
    logged = Logged(latest.seq, event, first=latest.first)
    return isinstance(event, ChainEvent) and reorg.reaches(event.chain_id, event.block, logged)


def _takes_any_of(history: TransferHistory, reorg: Reorg) -> bool:
    origin = history.origin()
    return any(
        reorg.reaches(origin.chain_of(event) or reorg.chain_id, event.block, logged)
        and not is_retracted(logged.seq, event.id, history.retracted)
        and not orphaned_by(logged, origin, history.reorgs)
        for logged in history.log
        if isinstance(event := logged.event, BlockEvent)
    )
