"""Reads the logs of transfers, users' refund requests, and the withdraw ids that were paid, and counts how
long refunds take until they are claimable.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain
from typing import Any, Final, NamedTuple, cast

from sqlalchemy import Connection, Row, Select, and_, exists, func, or_, select, union_all

from app.db.types import RowsOf, is_one_of
from app.db.upserts import add_up
from app.refunds.models import (
    EvidenceCount,
    PrunedWithdraw,
    SignatureNotNeeded,
    UserRefundRequest,
    WithdrawDone,
    WithdrawId,
)
from app.transfers.models import Event, EventAhead, RefundBasis, Transfer
from app.transfers.queries.logged import reorgs_reaching, retracted_of_transfers
from app.transfers.rules.events.codec import decode_event
from app.transfers.rules.events.counting import Logged, as_reported
from app.transfers.rules.events.event_types import (
    NetworkStatus,
    RefundPrepared,
    RefundSigned,
    TransferEvent,
)
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.projected import TransferState
from app.transfers.rules.refunds.request_message import NO_TRANSFER, PaidIds, paid_elsewhere, withdraw_ids_of
from app.values.identifiers import ChainId, TransferId


def requested_at(connection: Connection, transfer_ids: Collection[bytes]) -> dict[bytes, datetime]:
    """When users requested the refunds of transfers; transfers without a request are left out."""
    rows = connection.execute(
        select(UserRefundRequest.transfer_id, UserRefundRequest.at).where(
            UserRefundRequest.transfer_id.in_(transfer_ids)
        )
    )
    return {row.transfer_id: row.at for row in rows}


class UserRequestRow(NamedTuple):
    """A user's request. ``chain_id`` is the source chain of the transfer, None while no send is known."""

    seq: int
    transfer_id: TransferId
    at: datetime
    chain_id: ChainId | None


def user_requests_after(connection: Connection, after: int, limit: int) -> Sequence[UserRequestRow]:
    """Users' requests, in the order of ``seq``."""
    rows = connection.execute(
        select(
            UserRefundRequest.seq,
            UserRefundRequest.transfer_id,
            UserRefundRequest.at,
            Transfer.src_chain_id,
            Transfer.kind,
        )
        .join_from(
            UserRefundRequest, Transfer, UserRefundRequest.transfer_id == Transfer.transfer_id, isouter=True
        )
        .where(UserRefundRequest.seq > after)
        .order_by(UserRefundRequest.seq)
        .limit(limit)
    )
    return [
        UserRequestRow(row.seq, row.transfer_id, row.at, row.src_chain_id if row.kind is not None else None)
        for row in rows
    ]


CHUNK: Final = 500
"""Ids in one statement."""


def ids_of_transfers(
    connection: Connection, transfer_ids: Collection[bytes]
) -> dict[TransferId, dict[bytes, bool]]:
    """The withdraw ids of each transfer, each with whether the transfer was paid under it."""
    found: dict[TransferId, dict[bytes, bool]] = defaultdict(dict)
    rows = connection.execute(
        select(WithdrawId.transfer_id, WithdrawId.withdraw_id, WithdrawId.paid).where(
            is_one_of(connection, WithdrawId.transfer_id, transfer_ids)
        )
    )
    for row in rows:
        found[row.transfer_id][bytes(row.withdraw_id)] = row.paid
    return found


def paid_for(connection: Connection, ids: Collection[bytes]) -> dict[bytes, set[TransferId]]:
    """The transfers whose refunds were paid under each withdraw id, including pruned ones."""
    found: dict[bytes, set[TransferId]] = defaultdict(set)
    wanted = sorted(ids)
    for start in range(0, len(wanted), CHUNK):
        some = wanted[start : start + CHUNK]
        rows = connection.execute(
            union_all(
                select(WithdrawId.withdraw_id, WithdrawId.transfer_id).where(
                    WithdrawId.withdraw_id.in_(some), WithdrawId.paid
                ),
                select(PrunedWithdraw.withdraw_id, PrunedWithdraw.transfer_id).where(
                    PrunedWithdraw.withdraw_id.in_(some)
                ),
            )
        )
        for row in rows:
            found[bytes(row.withdraw_id)].add(row.transfer_id)
    return found


def used_on_chains(
    connection: Connection, ids: Collection[bytes]
) -> dict[tuple[bytes, ChainId], set[TransferId]]:
    """The transfers for which blocks show that an id was used, by withdraw id and chain; NO_TRANSFER:
    liquidity.
    """
    found: dict[tuple[bytes, ChainId], set[TransferId]] = defaultdict(set)
    wanted = sorted(ids)
    for start in range(0, len(wanted), CHUNK):
        is_wanted = WithdrawDone.withdraw_id.in_(wanted[start : start + CHUNK])
        for row in connection.execute(select(WithdrawDone.__table__).where(is_wanted)):
            found[bytes(row.withdraw_id), row.chain_id].add(row.ref_id or NO_TRANSFER)
    return found


class UsedId(NamedTuple):
    """A withdraw id that an event of a chain uses up, and for which transfer; None for liquidity."""

    withdraw_id: bytes
    ref_id: TransferId | None


def used_by_events(
    connection: Connection, chain_id: ChainId, event_ids: Collection[str]
) -> dict[str, UsedId]:
    """The withdraw ids that these events of a chain use up, by event id."""
    of_events = is_one_of(connection, WithdrawDone.event_id, event_ids)
    rows = connection.execute(
        select(WithdrawDone.__table__).where(WithdrawDone.chain_id == chain_id, of_events)
    )
    return {row.event_id: UsedId(bytes(row.withdraw_id), row.ref_id) for row in rows}


def transfers_by_id(connection: Connection, ids: Collection[bytes]) -> dict[bytes, set[TransferId]]:
    """The transfers that have a request with a withdraw id, by id; ids without any are left out."""
    found: dict[bytes, set[TransferId]] = defaultdict(set)
    wanted = sorted(ids)
    for start in range(0, len(wanted), CHUNK):
        is_wanted = WithdrawId.withdraw_id.in_(wanted[start : start + CHUNK])
        for row in connection.execute(
            select(WithdrawId.withdraw_id, WithdrawId.transfer_id).where(is_wanted)
        ):
            found[bytes(row.withdraw_id)].add(row.transfer_id)
    return found


def transfers_with_ids(connection: Connection, ids: Collection[bytes]) -> set[TransferId]:
    return {each for transfers in transfers_by_id(connection, ids).values() for each in transfers}


def with_several_ids(connection: Connection, src_chain_ids: Collection[int]) -> Sequence[bytes]:
    several = select(WithdrawId.transfer_id).group_by(WithdrawId.transfer_id).having(func.count() > 1)
    return connection.scalars(
        select(Transfer.transfer_id).where(
            Transfer.transfer_id.in_(several),
            Transfer.src_chain_id.in_(src_chain_ids),
        )
    ).all()


_REFUND_TYPES: Final = (RefundPrepared.type, RefundSigned.type)


_IS_BASIS: Final = exists().where(
    RefundBasis.transfer_id == Event.transfer_id, RefundBasis.event_id == Event.event_id
)


def load_histories(
    connection: Connection,
    transfer_ids: Iterable[bytes],
    arriving: Collection[TransferEvent] = (),
    *,
    basis_only: bool = False,
    every_signature: bool = False,
) -> dict[bytes, TransferHistory]:
    """The whole log of each transfer, with the reorgs that may reach it; empty for unknown ones.

    :param arriving: events that may be logged next. They may name further chains of a transfer, so the reorgs
        of those chains are loaded, too.
    :param every_signature: include the signatures that another one by their signer replaces.
    :param basis_only: of the refund requests and signatures load only the basis of the refund. Status and
        evidence need no others.
    """
    ids = set(transfer_ids)
    query = _logged(basis_only=basis_only, every_signature=every_signature)
    logs, ahead = _logs(connection, ids, query)
    reorgs = reorgs_reaching(connection, logs, arriving)
    paid_ids = paid_ids_of(connection, logs)
    requested = _requested_at(connection, logs, arriving)
    retracted = retracted_of_transfers(connection, ids)
    return {
        transfer_id: TransferHistory(
            TransferId(transfer_id),
            as_reported(events),
            reorgs[transfer_id],
            retracted[transfer_id],
            paid_ids.get(transfer_id, {}),
            requested.get(transfer_id),
            frozenset(ahead.get(transfer_id, ())),
        )
        for transfer_id, events in logs.items()
    }


@cache
def _logged(*, basis_only: bool, every_signature: bool) -> RowsOf:
    """Parameters as in :func:`load_histories`."""
    query: Select[*tuple[Any, ...]] = (
        select(
            Event.seq,
            Event.transfer_id,
            Event.event_id,
            Event.type,
            Event.body,
            Event.limited_to,
            EventAhead.at,
        )
        .outerjoin(EventAhead, EventAhead.seq == Event.seq)
        .order_by(Event.seq)
    )
    if not every_signature:
        query = query.outerjoin(SignatureNotNeeded, SignatureNotNeeded.seq == Event.seq)
        query = query.where(SignatureNotNeeded.seq.is_(None))
    if basis_only:
        query = query.where(or_(and_(*(Event.type != each for each in _REFUND_TYPES)), _IS_BASIS))
    return RowsOf(query, transfer_ids=Event.transfer_id)


def _logs(
    connection: Connection, ids: Collection[bytes], query: RowsOf
) -> tuple[dict[bytes, list[Logged[TransferEvent]]], dict[bytes, set[int]]]:
    """The events by transfer, empty for those without any, and the positions of those that are ahead."""
    logs: dict[bytes, list[Logged[TransferEvent]]] = {transfer_id: [] for transfer_id in ids}
    ahead: dict[bytes, set[int]] = defaultdict(set)
    for row in query(connection, transfer_ids=ids):
        event = cast("TransferEvent", decode_event(row.event_id, row.type, row.body))
        logs[row.transfer_id].append(Logged(row.seq, event, row.limited_to))
        if row.at is not None:
            ahead[row.transfer_id].add(row.seq)
    return logs, ahead


def _requested_at(
    connection: Connection,
    logs: dict[bytes, list[Logged[TransferEvent]]],
    arriving: Collection[TransferEvent],
) -> dict[bytes, datetime]:
    """When refunds were requested. A request does not count for a transfer that the network never refused."""
    logged = (each.event for events in logs.values() for each in events)
    refused = {
        event.transfer_id
        for event in chain(logged, arriving)
        if isinstance(event, NetworkStatus) and event.xfer_status.is_bad
    }
    return requested_at(connection, refused) if refused else {}


def paid_ids_of(
    connection: Connection, logs: Mapping[bytes, Sequence[Logged[TransferEvent]]]
) -> dict[bytes, PaidIds]:
    """The withdraw ids of each transfer with refund requests that were paid for other transfers."""
    ids: dict[bytes, dict[bytes, ChainId]] = {}
    for transfer_id, events in logs.items():
        requests = {each.event.wd_onchain for each in events if isinstance(each.event, RefundPrepared)}
        if known := withdraw_ids_of(requests):
            ids[transfer_id] = known
    if not ids:
        return {}
    wanted = {each for known in ids.values() for each in known}
    paid, used = paid_for(connection, wanted), used_on_chains(connection, wanted)
    return {
        transfer_id: paid_elsewhere(TransferId(transfer_id), known, paid, used)
        for transfer_id, known in ids.items()
    }


EVIDENCE_BOUNDS: Final = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 21_600, 86_400, 604_800)
"""Seconds. A refund that took longer than the last was reported again, or is read from years ago: it is not
counted."""

EVIDENCE_STAGES: Final = ("signatures", "gateway", "whole")


def count_evidence(
    connection: Connection, claimable: Iterable[tuple[TransferHistory, TransferState]], now: datetime
) -> None:
    """Count how long it took until refunds became claimable, by stage.

    ``signatures`` is from the request that is served to its quorum, by the times of their events. ``gateway``
    is from there to ``now``, when the gateway learned of it: what the watcher, confirmations, reporters and
    the projection take. ``whole`` is both. ``claimable`` are those that this transaction brings to status 8.
    """
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for history, state in claimable:
        requested, quorum = _prepared_at(history, state), state.status_since
        if requested is None or quorum is None:
            continue
        if (now - requested).total_seconds() > EVIDENCE_BOUNDS[-1]:
            continue
        took_by_stage = (quorum - requested, now - quorum, now - requested)
        for stage, took in zip(EVIDENCE_STAGES, took_by_stage, strict=True):
            seconds = max(0.0, took.total_seconds())
            up_to = EVIDENCE_BOUNDS[bisect_left(EVIDENCE_BOUNDS, seconds)]
            row = rows.setdefault((stage, up_to), {"stage": stage, "up_to": up_to, "n": 0, "milliseconds": 0})
            row["n"] += 1
            row["milliseconds"] += round(seconds * 1_000)
    add_up(connection, EvidenceCount, list(rows.values()))


def _prepared_at(history: TransferHistory, state: TransferState) -> datetime | None:
    served = None if state.evidence is None else state.evidence.wd_onchain
    events = (logged.event for logged in history.log)
    return min(
        (each.at for each in events if isinstance(each, RefundPrepared) and each.wd_onchain == served),
        default=None,
    )


def evidence_counts(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    """Every column of every count."""
    return connection.execute(select(EvidenceCount.__table__).order_by(EvidenceCount.up_to)).all()
