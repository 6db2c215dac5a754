"""Selects how far each chain has been read, and what is stored about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, exists, false, func, or_, select

from app.db.types import is_one_of
from app.feed.queries.pruned import pruned_transfers
from app.network.models import Chain
from app.network.rules.watch_terms import KnownSend
from app.transfers import models as log
from app.transfers.models import ChainProgress, Transfer
from app.transfers.queries.logged import IS_REORG, Reach, from_block_of, load_reorgs, retracted_keys
from app.transfers.rules.certainty import ChainProof
from app.transfers.rules.events.codec import decode_event
from app.transfers.rules.events.counting import Logged, Origin
from app.transfers.rules.events.event_types import (
    EVENT_CLASSES,
    BlockEvent,
    ChainEvent,
    ChainReorged,
    LiquidityAdded,
    LiquidityWithdrawn,
    RefundCompleted,
    RefundDelayed,
    RefundSubmitted,
    TransferDelayed,
    TransferEvent,
    TransferReleased,
    TransferSent,
    ValidatorsUpdated,
    WithdrawDone,
)
from app.transfers.rules.events.fields import MAX_BLOCK
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.events.reorganisations import canonical_on_chain
from app.transfers.rules.progress import ChainDepth
from app.values.codes import SendKind
from app.values.identifiers import BlockNumber, ChainId, TransferId
from app.watcher.models import (
    ChainWatch,
    FaultyUrl,
    WatchDoubt,
    WatchHeader,
    WatchMiss,
    WatchSpan,
    WatchWaiting,
)
from app.watcher.rules.blocks import Header
from app.watcher.rules.steps import ReportedEvent, Span, SpanState, Waiting, WaitingKind

_EVERY = select(ChainWatch.__table__).order_by(ChainWatch.chain_id)


def watch_rows(connection: Connection) -> Mapping[ChainId, Row[*tuple[Any, ...]]]:
    return {ChainId(row.chain_id): row for row in connection.execute(_EVERY)}


def waiting_counts(connection: Connection, chain_id: ChainId) -> Mapping[str, int]:
    counted = (
        select(WatchWaiting.kind, func.count())
        .where(WatchWaiting.chain_id == chain_id)
        .group_by(WatchWaiting.kind)
    )
    return dict(connection.execute(counted).all())


def watch_row(connection: Connection, chain_id: ChainId) -> Row[*tuple[Any, ...]] | None:
    """The row of a chain; None if it was never read."""
    found = select(ChainWatch.__table__).where(ChainWatch.chain_id == chain_id)
    return connection.execute(found).one_or_none()


def stored_headers(connection: Connection, chain_id: ChainId) -> Sequence[Header]:
    """The stored headers of a chain, ascending."""
    rows = connection.execute(
        select(WatchHeader.__table__).where(WatchHeader.chain_id == chain_id).order_by(WatchHeader.number)
    )
    return [
        Header(
            BlockNumber(row.number),
            row.hash,
            row.parent_hash,
            row.at,
            None if row.bloom is None else bytes(row.bloom),
            None if row.receipts_root is None else bytes(row.receipts_root),
        )
        for row in rows
    ]


def stored_hash(connection: Connection, chain_id: ChainId, number: BlockNumber) -> str | None:
    return connection.scalar(
        select(WatchHeader.hash).where(WatchHeader.chain_id == chain_id, WatchHeader.number == number)
    )


def unproven_spans(connection: Connection, chain_id: ChainId) -> Sequence[Span]:
    """The spans that are not proven, ascending."""
    return _spans(connection, chain_id, WatchSpan.state != SpanState.PROVEN.value)


def spans_proven_before(connection: Connection, chain_id: ChainId) -> Sequence[Span]:
    """The spans that a release before the rule of evidence proved, ascending."""
    return _spans(
        connection, chain_id, WatchSpan.state == SpanState.PROVEN.value, WatchSpan.weighed.is_(False)
    )


def spans_between(
    connection: Connection, chain_id: ChainId, first: BlockNumber, last: BlockNumber | None
) -> Sequence[Span]:
    """The spans that overlap a range of blocks or touch it, ascending.

    :param last: None for a range without an end.
    """
    below = () if last is None else (WatchSpan.first <= last + 1,)
    return _spans(connection, chain_id, WatchSpan.last >= first - 1, *below)


def reread_spans(connection: Connection, chain_id: ChainId, first: BlockNumber) -> Sequence[Span]:
    """The spans from a block on that were reread or proven, ascending. Neighbours are joined, so there are
    few.
    """
    return _spans(connection, chain_id, WatchSpan.last >= first, WatchSpan.state != SpanState.READ.value)


def _spans(connection: Connection, chain_id: ChainId, *conditions: Any) -> Sequence[Span]:
    rows = connection.execute(
        select(WatchSpan.__table__)
        .where(WatchSpan.chain_id == chain_id, *conditions)
        .order_by(WatchSpan.first)
    )
    return [
        Span(
            BlockNumber(row.first),
            BlockNumber(row.last),
            row._mapping["count"],  # a tuple has a method of that name
            bytes(row.digest),
            row.source,
            SpanState(row.state),
            row.weighed,
        )
        for row in rows
    ]


def waiting_facts(connection: Connection, chain_id: ChainId) -> Sequence[Waiting]:
    """The waiting facts of a chain, by block."""
    rows = connection.execute(
        select(WatchWaiting.__table__)
        .where(WatchWaiting.chain_id == chain_id)
        .order_by(WatchWaiting.block, WatchWaiting.kind, WatchWaiting.key)
    )
    return [
        Waiting(
            WaitingKind(row.kind),
            row.key,
            BlockNumber(row.block),
            None if row.due is None else BlockNumber(row.due),
            row.facts,
        )
        for row in rows
    ]


def newest_misses(connection: Connection, chain_id: ChainId, limit: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """The newest rereads that differed, the newest first; of each, whether a block of it is disputed."""
    disputed = exists().where(
        WatchDoubt.chain_id == WatchMiss.chain_id,
        WatchDoubt.disputed.is_(True),
        WatchDoubt.block.between(WatchMiss.first, WatchMiss.last),
    )
    return connection.execute(
        select(WatchMiss.__table__, disputed.label("disputed"))
        .where(WatchMiss.chain_id == chain_id)
        .order_by(WatchMiss.id.desc())
        .limit(limit)
    ).all()


def faulty_urls(connection: Connection, chain_id: ChainId) -> Sequence[Row[*tuple[Any, ...]]]:
    """The URLs that gave false answers, the newest first."""
    found = select(FaultyUrl.__table__).where(FaultyUrl.chain_id == chain_id)
    return connection.execute(found.order_by(FaultyUrl.at.desc())).all()


def may_be_taken(connection: Connection, chain_id: ChainId, now: datetime, latest: datetime) -> bool:
    """Whether the lease of the chain is free or over, and its reading is not stopped.

    :param latest: until when a lease may be held; one for longer counts as over.
    """
    in_time = (ChainWatch.until > now) & (ChainWatch.until <= latest)
    held = select(ChainWatch.chain_id).where(
        ChainWatch.chain_id == chain_id,
        or_(ChainWatch.stopped.is_not(None), ChainWatch.owner.is_not(None) & in_time),
    )
    return connection.execute(held).first() is None


IN_A_BLOCK: Final = tuple(
    event_type
    for event_type, event_class in EVENT_CLASSES.items()
    if issubclass(event_class, BlockEvent | ChainEvent) and not issubclass(event_class, ChainReorged)
)
"""The types that name the block of their log, or of the head."""


def reported_events(
    connection: Connection,
    chain_id: ChainId,
    first: BlockNumber,
    last: BlockNumber | None,
    *,
    reporter: str,
    transfer_ids: Collection[TransferId] | None = None,
) -> list[ReportedEvent]:
    """The reports of a reporter about logs and heads of these blocks, by ids as in docs/ingest.md#ids.

    :param last: included; None for no end.
    :param transfer_ids: only of these; None for everything.
    """
    rows = connection.execute(_in_blocks(chain_id, first, last, transfer_ids)).all()
    said = {EventKey(row.subject, row.event_id) for row in rows if row.reporter == reporter}
    return _reported(connection, chain_id, rows, said, reporter)


OF_LOGS: Final = (
    TransferSent, TransferDelayed, TransferReleased, RefundSubmitted, RefundDelayed, RefundCompleted,
    LiquidityAdded, LiquidityWithdrawn, WithdrawDone, ValidatorsUpdated,
)  # fmt: skip
"""What the logs of watched contracts say. The watcher reports all of these."""


def reports_of_others(
    connection: Connection, chain_id: ChainId, first: BlockNumber, last: BlockNumber, *, reporter: str
) -> list[ReportedEvent]:
    """The reports of others about logs in these blocks of a chain, under ids of any kind."""
    return _of_others(connection, chain_id, _others(chain_id, first, last, reporter), reporter)


def new_reports_of_others(
    connection: Connection, chain_id: ChainId, last: BlockNumber, *, reporter: str, after: int, limit: int
) -> tuple[list[ReportedEvent], int]:
    """The same of all blocks up to one, of a number of acceptances after a position of the log.

    With a send come all reports about its transfer: only now their chain may be known.

    :returns: the position of the last of these acceptances, too.
    """
    table = log.Event
    window = select(table.seq).where(table.seq > after).order_by(table.seq).limit(limit).subquery()
    to = connection.scalar(select(func.max(window.c.seq)))
    if to is None:
        return [], after
    is_new = table.seq.between(after + 1, to)
    is_send = table.type == TransferSent.type
    sent = select(table.transfer_id).where(is_new, is_send, table.transfer_id.is_not(None))
    sends = select(table.transfer_id).where(is_send, table.transfer_id.in_(sent))
    sends = sends.group_by(table.transfer_id).having(func.min(table.seq) > after)
    is_of_chain = func.coalesce(table.chain_id, chain_id) == chain_id  # not by the index of chains
    of_new = _selected(is_of_chain, is_new, table.block <= last, table.reporter != reporter)
    found = _of_others(connection, chain_id, of_new, reporter)
    if ids := connection.scalars(sends).all():
        of_sends = _others(chain_id, BlockNumber(0), last, reporter)
        of_sends = of_sends.where(is_one_of(connection, table.transfer_id, set(ids)))
        earlier = _of_others(connection, chain_id, of_sends, reporter)
        found += [each for each in earlier if getattr(each.event, "chain_id", None) is None]
    return found, to


def reports_under(
    connection: Connection, chain_id: ChainId, keys: Collection[EventKey], *, reporter: str, of_others: bool
) -> list[ReportedEvent]:
    """The reports of the reporter, or of others, under these keys, of any block of the chain."""
    ids, is_others = {key.id for key in keys}, log.Event.reporter != reporter
    query = _of_logs(chain_id, BlockNumber(0), BlockNumber(MAX_BLOCK))
    query = query.where(is_others if of_others else ~is_others)
    query = query.where(is_one_of(connection, log.Event.event_id, ids))
    return [each for each in _of_others(connection, chain_id, query, reporter) if each.event.key in keys]


def proven_ranges(connection: Connection, chain_id: ChainId) -> Sequence[Span]:
    """The spans that the rule of evidence proved, ascending."""
    return _spans(
        connection, chain_id, WatchSpan.state == SpanState.PROVEN.value, WatchSpan.weighed.is_(True)
    )


def _others(
    chain_id: ChainId, first: BlockNumber, last: BlockNumber, reporter: str
) -> Select[*tuple[Any, ...]]:
    return _of_logs(chain_id, first, last).where(log.Event.reporter != reporter)


def _of_logs(chain_id: ChainId, first: BlockNumber, last: BlockNumber) -> Select[*tuple[Any, ...]]:
    table = log.Event
    is_of_chain = or_(table.chain_id == chain_id, table.chain_id.is_(None))
    return _selected(is_of_chain, table.block >= first, table.block <= last)


def _selected(*conditions: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    table = log.Event
    return (
        select(table.seq, *_PLACED, Transfer.src_chain_id, Transfer.dst_chain_id)
        .outerjoin(Transfer, Transfer.transfer_id == table.transfer_id)
        .where(*conditions, table.type.in_([each.type for each in OF_LOGS]))
        .order_by(table.seq)
    )


def _of_others(
    connection: Connection, chain_id: ChainId, query: Select[*tuple[Any, ...]], reporter: str
) -> list[ReportedEvent]:
    rows = [row for row in connection.execute(query) if _chain_of(row) == chain_id]
    keys = {EventKey(row.subject, row.event_id) for row in rows}
    return _reported(connection, chain_id, rows, keys, reporter)


def said_of_blocks(
    connection: Connection, chain_id: ChainId, blocks: Collection[BlockNumber], *, reporter: str
) -> list[ReportedEvent]:
    """All reports about logs in these blocks of a chain."""
    query = _of_logs(chain_id, min(blocks), max(blocks))
    return _of_others(
        connection, chain_id, query.where(is_one_of(connection, log.Event.block, blocks)), reporter
    )


def _chain_of(row: Row[*tuple[Any, ...]]) -> int | None:
    """The chain that a row's event was read on; None where it is not known."""
    event = decode_event(row.event_id, row.type, row.body)
    if isinstance(event, TransferEvent):
        return Origin(row.src_chain_id, row.dst_chain_id).chain_of(event)
    return getattr(event, "chain_id", None)


def _reported(
    connection: Connection,
    chain_id: ChainId,
    rows: Sequence[Row[*tuple[Any, ...]]],
    said: Collection[EventKey],
    reporter: str,
) -> list[ReportedEvent]:
    if not said:
        return []
    keyed = [(EventKey(row.subject, row.event_id), row) for row in rows]
    of_others = {key: row.reporter for key, row in reversed(keyed) if row.reporter != reporter}
    by_us = {key for key, row in keyed if row.reporter == reporter}
    first = {key: row.seq for key, row in reversed(keyed)}
    reach: dict[int, Reach] = {chain_id: Reach(rows[0].seq, max(row.block for row in rows))}
    reorgs = load_reorgs(connection, reach)
    retracted = retracted_keys(connection, said)
    latest = {
        key: Logged(row.seq, _in_block(row), first=first[key])
        for key, row in dict(keyed).items()
        if key in said
    }
    canonical = {each.seq for each in canonical_on_chain(chain_id, latest.values(), reorgs, retracted)}
    return [
        ReportedEvent(
            logged.event,
            cast("BlockNumber", logged.event.block),
            logged.seq in canonical,
            key in of_others,
            reporter if key in by_us else of_others[key],
            logged.known_since,
        )
        for key, logged in latest.items()
    ]


def _in_block(row: Row[*tuple[Any, ...]]) -> BlockEvent | ChainEvent:
    return cast("BlockEvent | ChainEvent", decode_event(row.event_id, row.type, row.body))


_PLACED: Final = (
    log.Event.event_id,
    log.Event.subject,
    log.Event.type,
    log.Event.block,
    log.Event.body,
    log.Event.reporter,
)


def _in_blocks(
    chain_id: ChainId,
    first: BlockNumber,
    last: BlockNumber | None,
    transfer_ids: Collection[TransferId] | None,
) -> Select[*tuple[Any, ...]]:
    table = log.Event
    return (
        select(table.seq, *_PLACED)
        .where(or_(table.chain_id == chain_id, table.chain_id.is_(None)))
        .where(table.type.in_(IN_A_BLOCK), table.block >= first)
        .where(*(() if last is None else (table.block <= last,)))
        .where(*(() if transfer_ids is None else (table.transfer_id.in_(transfer_ids),)))
        .where(table.event_id.startswith(f"{chain_id}:0x"))
        .order_by(table.seq)
    )


class Reorgs(NamedTuple):
    """The reorganisations reported since a position of the log.

    :param newest: the position of the last one, of any chain; None where there is none.
    :param from_block: the lowest block from which others took this chain back.
    """

    newest: int | None
    from_block: BlockNumber | None


def reorgs_since(connection: Connection, chain_id: ChainId, seq: int, above: int, *, reporter: str) -> Reorgs:
    """The reorganisations after a position of the log. Where there is none, this is one look at an index.

    :param above: those from this block, or from below it, are left out.
    :param reporter: whose own are left out.
    """
    table, from_block = log.Event, from_block_of(connection)
    is_others = and_(table.chain_id == chain_id, table.reporter != reporter, from_block > above)
    found = connection.execute(
        select(
            func.max(table.seq).label("newest"), func.min(case((is_others, from_block))).label("from_block")
        ).where(IS_REORG, table.seq > seq)
    ).one()
    return Reorgs(found.newest, found.from_block)


def known_sends(
    connection: Connection, chain_id: ChainId, transfer_ids: Collection[TransferId]
) -> dict[TransferId, KnownSend]:
    """The sends that are known, or were before they were pruned, and do not come from another chain.

    The chain is compared here: with it among the conditions, a database without statistics reads all
    transfers of the chain by its index.
    """
    columns = Transfer.transfer_id, Transfer.kind, Transfer.src_chain_id, Transfer.dst_chain_id
    sends = select(*columns).where(is_one_of(connection, Transfer.transfer_id, transfer_ids))
    pruned = pruned_transfers(connection, transfer_ids)
    return {TransferId(transfer_id): KnownSend(is_pruned=True) for transfer_id in pruned} | {
        row.transfer_id: KnownSend(SendKind(row.kind) if row.kind else None, row.dst_chain_id)
        for row in connection.execute(sends)
        if row.src_chain_id in (chain_id, None)
    }


_NONE_YET = BlockNumber(-1)
_FINAL = case((ChainWatch.chain_id.is_not(None), func.coalesce(ChainWatch.final, _NONE_YET)))
_DEPTHS = (
    select(ChainProgress.chain_id, ChainProgress.highest_block, _FINAL)
    .join(Chain, Chain.chain_id == ChainProgress.chain_id)
    .join(ChainWatch, ChainWatch.chain_id == ChainProgress.chain_id, isouter=True)
)


_OPEN = select(WatchDoubt.chain_id, WatchDoubt.block).where(WatchDoubt.final == false())


def chain_depths(connection: Connection) -> Mapping[ChainId, ChainDepth]:
    """How far each configured chain was read, with the newest final block of those that a watcher reads.

    Any reporter can make up others, so their number has no limit.
    """
    open_blocks: dict[int, set[BlockNumber]] = defaultdict(set)
    for chain_id, block in connection.execute(_OPEN):
        open_blocks[chain_id].add(block)
    return {
        ChainId(chain_id): ChainDepth(head, final, frozenset(open_blocks[chain_id]))
        for chain_id, head, final in connection.execute(_DEPTHS)
    }


_PROOFS = select(
    ChainProgress.chain_id,
    ChainProgress.highest_block,
    ChainWatch.backfill_from,
    ChainWatch.live_from,
    ChainWatch.proven_to,
    ChainWatch.unmatched,
).join(ChainWatch, ChainWatch.chain_id == ChainProgress.chain_id, isouter=True)


def chain_proofs(
    connection: Connection, chain_ids: Collection[ChainId], blocks: Collection[BlockNumber]
) -> Mapping[ChainId, ChainProof]:
    """How far each of the chains was read and proven; chains that have reported nothing are left out.

    :param blocks: of which it has to be known whether they are proven.
    """
    rows = connection.execute(_PROOFS.where(ChainProgress.chain_id.in_(chain_ids))).all()
    unmatched: dict[int, set[BlockNumber]] = defaultdict(set)
    if chains := [row.chain_id for row in rows if row.unmatched]:
        found = select(WatchDoubt.chain_id, WatchDoubt.block).where(
            WatchDoubt.chain_id.in_(chains), is_one_of(connection, WatchDoubt.block, blocks)
        )
        for chain_id, block in connection.execute(found):
            unmatched[chain_id].add(block)
    return {
        ChainId(row.chain_id): ChainProof(
            row.highest_block,
            min((start for start in (row.backfill_from, row.live_from) if start is not None), default=None),
            row.proven_to,
            frozenset(unmatched[row.chain_id]),
        )
        for row in rows
    }
