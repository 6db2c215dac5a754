"""Reads how far the log reaches, and the reorganisations and retractions in it that may reach events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, and_, exists, func, or_, select, text, true

from app.db.types import RowsOf
from app.network.models import Chain
from app.transfers import models as log
from app.transfers.codec import with_keys
from app.transfers.models import Event, EventAhead, RetractedEvent
from app.transfers.reorganisations import Reorg
from app.transfers.subjects import EventKey
from app.values.identifiers import TransferId

IS_REORG = text("type = 'chain.reorged'")  # spelled like the partial index, so that it serves

IS_NOT_RETRACTED: Final = ~exists().where(
    RetractedEvent.event_id == Event.event_id,
    RetractedEvent.subject == Event.subject,
    RetractedEvent.seq >= Event.seq,
)
"""Whether no canonical retraction names an acceptance in the log."""

IS_NOT_AHEAD: Final = ~exists().where(EventAhead.seq == Event.seq)
"""Whether the time of an acceptance in the log has passed."""


class Reach(NamedTuple):
    """Events of one chain that were accepted after a position in the log, up to a block."""

    after_seq: int
    up_to_block: int


def load_reorgs(connection: Connection, reaches: Mapping[int, Reach]) -> list[Reorg]:
    """Canonical reorgs that may reach events of these chains, in the order of the log.

    Most later reorgs are of higher blocks. They reach none of the events and are not read.

    :param reaches: by chain.
    """
    if not reaches:
        return []
    may_reach = (
        and_(Event.chain_id == chain_id, Event.seq > reach.after_seq, Event.block <= reach.up_to_block)
        for chain_id, reach in reaches.items()
    )
    rows = connection.execute(
        select(Event.seq, Event.chain_id, Event.block)
        .where(IS_REORG, or_(*may_reach), IS_NOT_RETRACTED)
        .order_by(Event.seq)
    )
    return [Reorg(row.seq, row.chain_id, row.block) for row in rows]


def retracted_keys(connection: Connection, keys: Iterable[EventKey]) -> dict[EventKey, int]:
    """Those of the keys that a canonical retraction names, with the retraction's position in the log."""
    found: dict[EventKey, int] = {}
    for of_keys in with_keys(connection, RetractedEvent.event_id, RetractedEvent.subject, keys):
        found |= _positions(connection, of_keys)
    return found


def every_retracted_key(connection: Connection) -> dict[EventKey, int]:
    """All keys that a canonical retraction names, with the retraction's position in the log."""
    return _positions(connection, true())


def _positions(connection: Connection, condition: ColumnElement[bool]) -> dict[EventKey, int]:
    table = RetractedEvent
    rows = connection.execute(select(table.subject, table.event_id, table.seq).where(condition))
    return {EventKey(row.subject, row.event_id): row.seq for row in rows}


_RETRACTED: Final = RowsOf(
    select(RetractedEvent.transfer_id, RetractedEvent.event_id, RetractedEvent.seq),
    transfer_ids=RetractedEvent.transfer_id,
)


def retracted_of_transfers(
    connection: Connection, transfer_ids: Collection[bytes]
) -> dict[bytes, dict[str, int]]:
    """The retracted ids of each of the transfers that has any, with the retractions' positions."""
    retracted: dict[bytes, dict[str, int]] = defaultdict(dict)
    for row in _RETRACTED(connection, transfer_ids=transfer_ids):
        retracted[row.transfer_id][row.event_id] = row.seq
    return retracted


def newest_seq(connection: Connection) -> int:
    """The position of the newest acceptance that is still stored; 0 where there is none."""
    return connection.scalar(select(func.max(log.Event.seq))) or 0


def has_events(connection: Connection, transfer_id: TransferId) -> bool:
    """Whether the log has anything about the transfer that counts without its send."""
    counts = Event.limited_to.is_(None)
    return bool(connection.scalar(select(exists().where(Event.transfer_id == transfer_id, counts))))


def transfers_log(connection: Connection, transfer_id: TransferId) -> Sequence[Row[*tuple[Any, ...]]]:
    """Id, time and content of each acceptance about the transfer, in the order of the log."""
    columns = select(Event.event_id, Event.at, Event.body)
    return connection.execute(columns.where(Event.transfer_id == transfer_id).order_by(Event.seq)).all()


def accepted_ids(connection: Connection, event_ids: Collection[str]) -> set[str]:
    """Those of the ids that the log has, about anything, standing or taken back."""
    return set(connection.scalars(select(Event.event_id).where(Event.event_id.in_(event_ids))))


def is_empty(connection: Connection) -> bool:
    """Whether no event was ever accepted and no chain is configured."""
    return all(connection.execute(select(model).limit(1)).first() is None for model in (Event, Chain))


def first_reporter(connection: Connection) -> str | None:
    """Who reported the first event of the log; None while the log is empty. One index read."""
    return connection.scalar(select(Event.reporter).order_by(Event.seq).limit(1))
