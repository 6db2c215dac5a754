"""What did the statuses of a transfer ever follow from, and which transfers did entries of the log change?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, cast

from sqlalchemy import Connection, Row, select

from app.domain.codes import TransferHistoryStatus as Status
from app.domain.following.past import Ask, KeyedReorg, Past
from app.domain.following.position import Position
from app.domain.keys import BlockNumber, ChainId, TransferId, account_key
from app.domain.refund.withdraw_ids import PaidIds
from app.domain.transfer.event_types import EventType
from app.domain.transfer.events import (
    EventsRetracted,
    RefundPrepared,
    TransferEvent,
    ValidatorsUpdated,
)
from app.domain.transfer.standing import Logged, Reorg, Retraction
from app.domain.transfer.subjects import EventKey, subject_of_transfer, transfer_of_subject
from app.models.choice import is_one_of
from app.models.events import Event
from app.models.refunds.asks import RefundAsk
from app.models.signatures import SignatureNotNeeded
from app.models.transfers import Transfer
from app.queries.feed.chain_progress import transfers_from_block
from app.queries.feed.codec import decode_event
from app.queries.feed.histories import chains_named_by, paid_ids_of
from app.queries.feed.retractions import retractions_naming
from app.queries.feed.standing import IS_REORG
from app.queries.feed.transfers import transfers_in_status
from app.queries.waiting.news import REACH_FAR, Heads

MOST_ENTRIES: Final = 300
"""Entries of a transfer's log that are read whole. Of a longer one the signatures that are not needed are
left out: nobody but a validator who signs a request again and again makes it longer."""

MOST_BEHIND: Final = 50_000
"""Entries of the log that are searched for an account's transfers: what a busy feed takes in a minute."""

MOST_TRANSFERS: Final = 500
"""Transfers of an account whose pasts are read for one answer: each takes several statements, and anybody may
ask."""

CHUNK: Final = 500
"""Transfers read by one statement."""

_OF_A_ROUTE: Final = "route:"
"""How a subject begins that no status follows from."""

_REORG: Final = EventType.CHAIN_REORGED.value
_COLUMNS: Final = (
    Event.seq, Event.event_id, Event.subject, Event.type, Event.body, Event.received_at, Event.limited_to
)  # fmt: skip
_BY_VALIDATORS: Final = (
    Status.TRANSFER_TO_BE_REFUNDED,
    Status.TRANSFER_REQUESTING_REFUND,
    Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
)
"""Where a rotation of the validators may lead to, or from."""


def load_past(connection: Connection, transfer_id: TransferId) -> Past:
    """The whole past of a transfer; without any log for one that is not known, or not any more."""
    rows = _log(connection, transfer_id)
    log = [Logged(row.seq, cast("TransferEvent", _event(row)), row.limited_to) for row in rows]
    if not log:
        return Past(transfer_id, ())
    learned = {Position(row.seq): row.received_at for row in rows}
    reorgs, rotations = [], []
    if chains := chains_named_by(each.event for each in log):
        refunded = any(isinstance(each.event, RefundPrepared) for each in log)
        rotation_rows = _rotations(connection, chains) if refunded else ()
        rotations = [Logged(row.seq, cast("ValidatorsUpdated", _event(row))) for row in rotation_rows]
        reorg_rows = _reorgs(connection, chains, [*log, *rotations])
        reorgs = [
            KeyedReorg(
                EventKey(row.subject, row.event_id),
                Reorg(row.seq, ChainId(row.chain_id), BlockNumber(row.block)),
            )
            for row in reorg_rows
        ]
        learned |= {Position(row.seq): row.received_at for row in (*rotation_rows, *reorg_rows)}
    ours = [*(each.key for each in reorgs), *(each.event.key for each in rotations)]
    retractions = retractions_naming(connection, ours, [subject_of_transfer(transfer_id)])
    if retractions:
        learned |= _learned(connection, retractions)
    ask = _ask(connection, transfer_id)
    if ask is not None and ask.position is not None:
        learned[ask.position] = ask.at
    paid: PaidIds = paid_ids_of(connection, {transfer_id: log}).get(transfer_id, {})
    return Past(transfer_id, log, reorgs, retractions, rotations, ask, paid, learned)


def _event(row: Row[*tuple[Any, ...]]) -> Any:
    return decode_event(row.event_id, row.type, row.body)


def _log(connection: Connection, transfer_id: TransferId) -> Sequence[Row[*tuple[Any, ...]]]:
    query = select(*_COLUMNS).where(Event.transfer_id == transfer_id).order_by(Event.seq)
    rows = connection.execute(query.limit(MOST_ENTRIES + 1)).all()
    if len(rows) <= MOST_ENTRIES:
        return rows
    needed = query.outerjoin(SignatureNotNeeded, SignatureNotNeeded.seq == Event.seq)
    return connection.execute(needed.where(SignatureNotNeeded.seq.is_(None))).all()


def _rotations(connection: Connection, chains: Collection[int]) -> Sequence[Row[*tuple[Any, ...]]]:
    return connection.execute(
        select(*_COLUMNS)
        .where(Event.chain_id.in_(chains), Event.type == EventType.VALIDATORS_UPDATED.value)
        .order_by(Event.seq)
    ).all()


def _reorgs(
    connection: Connection, chains: Collection[int], logged: Iterable[Logged[Any]]
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Those that may reach one of these entries, whether or not they stand."""
    placed = [(each.seq, each.event.block) for each in logged if hasattr(each.event, "block")]
    blocks = [block for _, block in placed if block is not None]
    if not blocks:
        return ()
    return connection.execute(
        select(Event.seq, Event.event_id, Event.subject, Event.chain_id, Event.block, Event.received_at)
        .where(IS_REORG, Event.chain_id.in_(chains), Event.block <= max(blocks))
        .where(Event.seq > min(seq for seq, _ in placed))
        .order_by(Event.seq)
    ).all()


def _learned(connection: Connection, retractions: Iterable[Retraction]) -> dict[Position, datetime]:
    wanted = [each.seq for each in retractions]
    rows = connection.execute(
        select(Event.seq, Event.received_at).where(is_one_of(connection, Event.seq, wanted))
    )
    return {Position(row.seq): row.received_at for row in rows}


def _ask(connection: Connection, transfer_id: TransferId) -> Ask | None:
    row = connection.execute(
        select(RefundAsk.seq, RefundAsk.at, RefundAsk.log_seq).where(RefundAsk.transfer_id == transfer_id)
    ).one_or_none()
    if row is None:
        return None
    return Ask(row.at, None if row.log_seq is None else Position(row.log_seq, row.seq))


def transfers_of_account(
    connection: Connection, account: str, since: Position, until: Heads
) -> set[TransferId] | None:
    """The transfers of an account whose status may have changed from a position on.

    None where too much came to say which, or something came that may have changed any.

    :param account: as ``account_key`` writes it.
    """
    if until.seq - since.seq > MOST_BEHIND:
        return None
    rows = connection.execute(
        select(Event.transfer_id, Event.event_id, Event.type, Event.chain_id, Event.block, Event.body)
        .where(Event.seq >= since.seq, Event.seq <= until.seq, Event.type.in_(REACH_FAR))
        .order_by(Event.seq)
    ).all()
    touched: set[TransferId] = set()
    retracted: set[TransferId] = set()
    for row in rows:
        if row.type == EventType.EVENTS_RETRACTED.value:
            of_transfers = _transfers_named_by(_event(row))
            if of_transfers is None:
                return None
            retracted |= of_transfers
    for chain_id in {row.chain_id for row in rows if row.chain_id is not None}:
        touched.update(map(TransferId, transfers_in_status(connection, [chain_id], _BY_VALIDATORS)))
    for chain_id, block in {(row.chain_id, row.block) for row in rows if row.type == _REORG}:
        touched.update(map(TransferId, transfers_from_block(connection, chain_id, block)))
    named = select(Event.transfer_id).where(
        Event.seq >= since.seq, Event.seq <= until.seq, Event.transfer_id.is_not(None)
    )
    asked = select(RefundAsk.transfer_id).where(RefundAsk.log_seq >= since.seq)
    for question in (named, asked):
        touched.update(each for each in connection.scalars(question) if each is not None)
    found = _listed_under(connection, account, touched) | retracted
    return found if len(found) <= MOST_TRANSFERS else None


def _transfers_named_by(retraction: EventsRetracted) -> set[TransferId] | None:
    """The transfers whose events it names; None where it names anything else, or does not say."""
    subjects = retraction.subjects or ("",)
    found = {transfer_of_subject(each) for each in subjects if not each.startswith(_OF_A_ROUTE)}
    return None if None in found else {TransferId(each) for each in found if each is not None}


def _listed_under(
    connection: Connection, account: str, transfer_ids: Collection[TransferId]
) -> set[TransferId]:
    wanted = sorted(transfer_ids)
    found: set[TransferId] = set()
    for start in range(0, len(wanted), CHUNK):
        rows = connection.execute(
            select(Transfer.transfer_id, Transfer.sender, Transfer.receiver).where(
                is_one_of(connection, Transfer.transfer_id, wanted[start : start + CHUNK])
            )
        )
        found |= {
            row.transfer_id
            for row in rows
            if account in (account_key(row.sender or ""), account_key(row.receiver or ""))
        }
    return found
