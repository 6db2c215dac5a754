"""Reads how far the log reaches, and the reorganisations and retractions in it that may reach events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple, cast

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Text,
    and_,
    case,
    exists,
    func,
    or_,
    select,
    text,
    true,
)
from sqlalchemy import cast as cast_to
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.orm import InstrumentedAttribute, aliased

from app.db.types import MOST_IN_STATEMENT, RowsOf, is_one_of
from app.network.models import Chain
from app.transfers import models as log
from app.transfers.models import ContradictedReport, Event, EventAhead, RetractedEvent
from app.transfers.rules.certainty import WATCHER
from app.transfers.rules.events.codec import decode_event
from app.transfers.rules.events.counting import Logged, as_reported
from app.transfers.rules.events.event_types import (
    BlockEvent,
    ChainReorged,
    PlacedEvent,
    RefundPrepared,
    RefundSigned,
    TransferEvent,
    TransferSent,
    TransferSubmitted,
)
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.events.reorganisations import Reorg
from app.transfers.rules.history import TransferHistory
from app.values.identifiers import BlockNumber, ChainId, TransferId


def with_keys(
    connection: Connection,
    event_id: InstrumentedAttribute[str],
    subject: InstrumentedAttribute[str],
    keys: Iterable[EventKey],
) -> Iterator[ColumnElement[bool]]:
    """Conditions that together match the rows of these keys, each for one statement.

    There is one for each subject, so that both databases use an index that begins with these columns.
    """
    ids: dict[str, list[Any]] = defaultdict(list)
    for key in keys:
        ids[key.subject].append(key.id)
    for about, of_subject in ids.items():
        for start in range(0, len(of_subject), MOST_IN_STATEMENT):
            chunk = of_subject[start : start + MOST_IN_STATEMENT]
            yield and_(is_one_of(connection, event_id, chunk), subject == about)


IS_REORG = text("type = 'chain.reorged'")  # spelled like the partial index, so that it serves

IS_WHOLE: Final = or_(Event.type != ChainReorged.type, Event.block.is_not(None))
"""Whether an acceptance in the log is not that of a belated reorg (``reorganisations.Reorg``)."""

IS_NOT_RETRACTED: Final = ~exists().where(
    RetractedEvent.event_id == Event.event_id,
    RetractedEvent.subject == Event.subject,
    RetractedEvent.seq >= Event.seq,
)
"""Whether no canonical retraction names an acceptance in the log."""

_another = aliased(Event)
FIRST: Final = case(
    (Event.occurrence == 0, Event.seq),
    else_=select(func.min(_another.seq))
    .where(_another.event_id == Event.event_id, _another.subject == Event.subject)
    .scalar_subquery(),
).label("first")
"""The position of the first acceptance of an event in the log."""

IS_NOT_AHEAD: Final = ~exists().where(EventAhead.seq == Event.seq)
"""Whether the time of an acceptance in the log has passed."""


def of_body(connection: Connection, name: str) -> ColumnElement[Any]:
    if connection.dialect.name == "postgresql":
        return func.json_extract_path_text(cast_to(Event.body, JSON), name, type_=Text)
    return func.json_extract(Event.body, f"$.{name}", type_=Text)


def from_block_of(connection: Connection) -> ColumnElement[int]:
    return func.coalesce(Event.block, cast_to(of_body(connection, "from_block"), BigInteger))


class Reach(NamedTuple):
    """Events of one chain that were accepted after a position in the log, up to a block."""

    after_seq: int
    up_to_block: int


def load_reorgs(connection: Connection, reaches: Mapping[int, Reach]) -> list[Reorg]:
    """Canonical reorgs that may reach events of these chains, in the order of the log. ``reaches`` is by
    chain.
    """
    if not reaches:
        return []
    may_reach = (
        and_(
            Event.chain_id == chain_id,
            Event.seq > reach.after_seq,
            or_(Event.block <= reach.up_to_block, Event.block.is_(None)),
        )
        for chain_id, reach in reaches.items()
    )
    from_block = from_block_of(connection).label("from_block")
    query = select(Event.seq, Event.event_id, Event.subject, Event.chain_id, Event.block, from_block)
    rows = connection.execute(
        query.where(IS_REORG, or_(*may_reach), IS_NOT_RETRACTED).order_by(Event.seq)
    ).all()
    keys = {row.seq: EventKey(row.subject, row.event_id) for row in rows if row.block is None}
    first = first_reorgs(connection, {*keys.values()})
    before = {seq: first.get(key, 0) for seq, key in keys.items()}
    return [Reorg(row.seq, row.chain_id, row.from_block, before.get(row.seq)) for row in rows]


def first_reorgs(connection: Connection, keys: Collection[EventKey]) -> dict[EventKey, int]:
    """The position of the first acceptance of each of these reorgs that is canonical and not belated."""
    query = select(Event.subject, Event.event_id, func.min(Event.seq).label("first"))
    by_key = query.where(IS_REORG, IS_WHOLE, IS_NOT_RETRACTED).group_by(Event.subject, Event.event_id)
    return {
        EventKey(row.subject, row.event_id): row.first
        for of_keys in with_keys(connection, Event.event_id, Event.subject, keys)
        for row in connection.execute(by_key.where(of_keys))
    }


def last_reorg(connection: Connection, chain_id: ChainId) -> BlockNumber | None:
    """The first block that the chain's latest canonical reorg orphaned; a belated one says nothing new."""
    return connection.scalar(
        select(Event.block)
        .where(IS_REORG, IS_WHOLE, Event.chain_id == chain_id, IS_NOT_RETRACTED)
        .order_by(Event.seq.desc())
        .limit(1)
    )


def reorgs_reaching(
    connection: Connection,
    logs: dict[bytes, list[Logged[TransferEvent]]],
    arriving: Collection[TransferEvent] = (),
) -> dict[bytes, list[Reorg]]:
    """The canonical reorgs that may reach the events of each transfer.

    :param arriving: as in ``app.refunds.queries.load_histories``.
    """
    logged = {transfer_id: events for transfer_id, events in logs.items() if events}
    chains = {
        transfer_id: _chains_named_by(each.event for each in events) for transfer_id, events in logged.items()
    }
    for event in arriving:
        if event.transfer_id in chains:
            chains[event.transfer_id] |= _chains_named_by([event])
    blocks = _highest_blocks(logged, arriving)
    reaches: dict[int, Reach] = {}
    for transfer_id, block in blocks.items():
        for chain_id in chains[transfer_id]:
            first, highest = reaches.get(chain_id, (logged[transfer_id][0].seq, block))
            reaches[chain_id] = Reach(min(first, logged[transfer_id][0].seq), max(highest, block))
    by_chain: dict[int, list[Reorg]] = defaultdict(list)
    for reorg in load_reorgs(connection, reaches):
        by_chain[reorg.chain_id].append(reorg)
    return {
        transfer_id: [
            reorg
            for chain_id in sorted(chains[transfer_id])
            for reorg in by_chain[chain_id]
            if reorg.seq > logged[transfer_id][0].seq and reorg.from_block <= blocks[transfer_id]
        ]
        if transfer_id in blocks
        else []
        for transfer_id in logs
    }


def _highest_blocks(
    logged: dict[bytes, list[Logged[TransferEvent]]], arriving: Collection[TransferEvent]
) -> dict[bytes, int]:
    """The highest block of each transfer's events, on either chain; transfers without one are left out. An
    arriving event may have the block of a logged one.
    """
    blocks: dict[bytes, int] = {}
    for event in chain((each.event for events in logged.values() for each in events), arriving):
        if isinstance(event, BlockEvent) and event.block is not None and event.transfer_id in logged:
            blocks[event.transfer_id] = max(event.block, blocks.get(event.transfer_id, event.block))
    return blocks


def _chains_named_by(events: Iterable[TransferEvent]) -> set[int]:
    chains: set[int | None] = set()
    for event in events:
        if isinstance(event, TransferSent | TransferSubmitted):
            chains |= {event.src_chain_id, event.dst_chain_id}
        elif isinstance(event, PlacedEvent):
            chains.add(event.chain_id)
    return {chain_id for chain_id in chains if chain_id is not None}


def retracted_keys(connection: Connection, keys: Iterable[EventKey]) -> dict[EventKey, int]:
    """The keys among these that a canonical retraction names, with the retraction's position in the log."""
    found: dict[EventKey, int] = {}
    for of_keys in with_keys(connection, RetractedEvent.event_id, RetractedEvent.subject, keys):
        found |= _positions(connection, of_keys)
    return found


def every_retracted_key(connection: Connection) -> dict[EventKey, int]:
    """All keys that a canonical retraction names, with the retraction's position in the log."""
    return _positions(connection, true())


def outranked_keys(connection: Connection, keys: Collection[EventKey]) -> set[EventKey]:
    """The keys among these that a proven block outranks: they count for nothing when they are sent again."""
    table, ids, found = ContradictedReport, sorted({key.id for key in keys}), set[EventKey]()
    query = select(table.subject, table.event_id).where(table.outranked.is_(True))
    for start in range(0, len(ids), MOST_IN_STATEMENT):
        some = is_one_of(connection, table.event_id, ids[start : start + MOST_IN_STATEMENT])
        found |= {EventKey(*row) for row in connection.execute(query.where(some))}
    return found.intersection(keys)


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


class ReportedHistory(NamedTuple):
    """The log of a transfer, and which positions of it the gateway itself read from chains."""

    history: TransferHistory
    read: frozenset[int]


_REPORTED: Final = RowsOf(
    select(
        Event.seq,
        Event.transfer_id,
        Event.event_id,
        Event.type,
        Event.body,
        Event.limited_to,
        Event.reporter,
        EventAhead.at,
    )
    .outerjoin(EventAhead, EventAhead.seq == Event.seq)
    .where(Event.type != RefundPrepared.type, Event.type != RefundSigned.type)
    .order_by(Event.seq),
    transfer_ids=Event.transfer_id,
)
"""Without refund requests and signatures: anybody can make up many, and no certainty rests on one of them."""


def reported_histories(
    connection: Connection, transfer_ids: Collection[TransferId]
) -> dict[bytes, ReportedHistory]:
    """The logs of the transfers without refund requests and signatures, and who reported what."""
    logs: dict[bytes, list[Logged[TransferEvent]]] = {transfer_id: [] for transfer_id in transfer_ids}
    ahead: set[int] = set()
    read: set[int] = set()
    for row in _REPORTED(connection, transfer_ids=transfer_ids):
        event = cast("TransferEvent", decode_event(row.event_id, row.type, row.body))
        logs[row.transfer_id].append(Logged(row.seq, event, row.limited_to))
        if row.at is not None:
            ahead.add(row.seq)
        if row.reporter == WATCHER:
            read.add(row.seq)
    reorgs = reorgs_reaching(connection, logs)
    retracted = retracted_of_transfers(connection, transfer_ids)
    return {
        transfer_id: ReportedHistory(
            TransferHistory(
                TransferId(transfer_id),
                as_reported(events),
                reorgs[transfer_id],
                retracted[transfer_id],
                ahead=frozenset(ahead),
            ),
            frozenset(read),
        )
        for transfer_id, events in logs.items()
    }


def newest_seq(connection: Connection) -> int:
    """The position of the newest acceptance that is still stored; 0 where there is none."""
    return connection.scalar(select(func.max(log.Event.seq))) or 0


def has_events(connection: Connection, transfer_id: TransferId) -> bool:
    """Whether the log has anything about the transfer that counts without its send."""
    counts = Event.limited_to.is_(None)
    return bool(connection.scalar(select(exists().where(Event.transfer_id == transfer_id, counts))))


def transfers_log(connection: Connection, transfer_id: TransferId) -> Sequence[Row[*tuple[Any, ...]]]:
    """Id, type, time and content of each acceptance about the transfer, in the order of the log."""
    columns = select(Event.event_id, Event.type, Event.at, Event.body)
    return connection.execute(columns.where(Event.transfer_id == transfer_id).order_by(Event.seq)).all()


def accepted_ids(connection: Connection, event_ids: Collection[str]) -> set[str]:
    """The ids among these that the log has, about anything, retracted or not."""
    return set(connection.scalars(select(Event.event_id).where(Event.event_id.in_(event_ids))))


def is_empty(connection: Connection) -> bool:
    """Whether no event was ever accepted and no chain is configured."""
    return all(connection.execute(select(model).limit(1)).first() is None for model in (Event, Chain))


SANDBOX: Final = "sandbox"
"""The reporter of every event of the sandbox."""


def is_sandbox(connection: Connection) -> bool:
    """Whether the database holds the sandbox, as the first event of its log says."""
    return connection.scalar(select(Event.reporter).order_by(Event.seq).limit(1)) == SANDBOX
