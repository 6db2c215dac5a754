"""What has a reporter said of some blocks of a chain?"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from sqlalchemy import Connection, or_, select

from app.domain.keys import BlockNumber, ChainId, TransferId
from app.domain.transfer.events import EVENT_CLASSES, BlockEvent, ChainEvent, ChainReorged, Event
from app.domain.transfer.subjects import EventKey
from app.models import events as log
from app.queries.feed.codec import decode_event
from app.queries.feed.retracted import retracted_keys
from app.queries.feed.standing import Reach, load_reorgs

IN_A_BLOCK: Final = tuple(
    event_type.value
    for event_type, event_class in EVENT_CLASSES.items()
    if issubclass(event_class, BlockEvent | ChainEvent) and not issubclass(event_class, ChainReorged)
)
"""The types that tell the block of their log, or of the head."""


class ReportedEvent(NamedTuple):
    """An event of the log, with all that is known of it.

    :param stands: neither a reorganisation of the chain nor a retraction took it back since.
    """

    event: Event
    block: BlockNumber
    stands: bool


def reported_events(
    connection: Connection,
    chain_id: ChainId,
    first: BlockNumber,
    last: BlockNumber | None,
    *,
    reporter: str,
    transfer_ids: Collection[TransferId] | None = None,
) -> list[ReportedEvent]:
    """What a reporter has ever said of logs and heads of these blocks, by ids as in docs/ingest.md#ids.

    :param last: included; None for no end.
    :param transfer_ids: only of these; None for everything.
    """
    table = log.Event
    rows = connection.execute(
        select(table.seq, table.event_id, table.subject, table.type, table.block, table.body, table.reporter)
        .where(or_(table.chain_id == chain_id, table.chain_id.is_(None)))
        .where(table.type.in_(IN_A_BLOCK), table.block >= first)
        .where(*(() if last is None else (table.block <= last,)))
        .where(*(() if transfer_ids is None else (table.transfer_id.in_(transfer_ids),)))
        .where(table.event_id.startswith(f"{chain_id}:0x"))
        .order_by(table.seq)
    ).all()
    latest = {EventKey(row.subject, row.event_id): row for row in rows}
    if not (said := {EventKey(row.subject, row.event_id) for row in rows if row.reporter == reporter}):
        return []
    reach = Reach(rows[0].seq, max(row.block for row in rows))
    reorgs = load_reorgs(connection, {chain_id: reach})
    retracted = retracted_keys(connection, said)
    return [
        ReportedEvent(
            decode_event(row.event_id, row.type, row.body),
            row.block,
            row.seq > retracted.get(key, 0)
            and not any(reorg.reaches(chain_id, row.block, row.seq) for reorg in reorgs),
        )
        for key, row in latest.items()
        if key in said
    ]
