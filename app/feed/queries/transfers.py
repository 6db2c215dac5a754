"""Reads the projections of transfers, their quarantined signatures, and the anomalies raised for them."""

from __future__ import annotations

from base64 import b64decode
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

from msgspec.structs import replace
from sqlalchemy import Connection, Row, func, select

from app.cooperation import in_turns
from app.db.types import RowsOf, is_one_of
from app.feed.models import JournalRow
from app.refunds.models import SignatureAside, SignatureNotNeeded
from app.transfers.models import Anomaly, Event, Refund, RefundBasis, Transfer
from app.transfers.rules.anomalies import AnomalyKind
from app.transfers.rules.events.codec import decode_event
from app.transfers.rules.events.counting import Logged
from app.transfers.rules.events.event_types import TransferEvent
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.projected import TransferState
from app.transfers.rules.refund_evidence import RefundEvidence
from app.values.codes import SendKind, TransferHistoryStatus, XferStatus
from app.values.identifiers import ChainId, TransferId

STATE_COLUMNS: Final = tuple(
    column.name
    for column in Transfer.__table__.columns
    if column.name not in ("kind", "status", "refund_reason")
)
"""Columns with the values of the attributes of the same names of a ``TransferState``."""

AT_A_TIME: Final = 1_000  # rows that are read where there are many

_STATES: Final = RowsOf(select(Transfer.__table__), transfer_ids=Transfer.transfer_id)
_ANOMALIES: Final = RowsOf(select(Anomaly.__table__), subjects=Anomaly.subject)


def load_states(connection: Connection, transfer_ids: Collection[bytes]) -> dict[TransferId, TransferState]:
    """The present projections, without evidence, blocks and readings, which are not summed."""
    rows = _STATES(connection, transfer_ids=transfer_ids)
    return {row.transfer_id: _state(row) for row in in_turns(rows)}


def with_evidence(
    connection: Connection, states: Mapping[TransferId, TransferState]
) -> dict[TransferId, TransferState]:
    """The states, those at status 8 with the evidence that is served."""
    served = [
        i for i, s in states.items() if s.status is TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED
    ]
    if not served:
        return dict(states)
    rows = connection.execute(
        select(Refund.__table__).where(is_one_of(connection, Refund.transfer_id, served))
    )
    evidence = {
        row.transfer_id: RefundEvidence(
            bytes(row.wd_onchain),
            *(tuple(map(b64decode, texts)) for texts in (row.sorted_sigs, row.signers, row.powers)),
        )
        for row in rows
    }
    return {**states, **{i: replace(states[i], evidence=each) for i, each in evidence.items()}}


def last_rows(connection: Connection, transfer_ids: Collection[bytes]) -> Sequence[Row[*tuple[Any, ...]]]:
    """The last row in the journal of statuses of each of these transfers that has any."""
    of_these = is_one_of(connection, JournalRow.transfer_id, transfer_ids)
    newest = select(func.max(JournalRow.sequence)).where(of_these).group_by(JournalRow.transfer_id)
    return connection.execute(
        select(JournalRow.__table__).where(JournalRow.sequence.in_(newest)).order_by(JournalRow.transfer_id)
    ).all()


def _state(row: Row[*tuple[Any, ...]]) -> TransferState:
    return TransferState(
        **{name: getattr(row, name) for name in STATE_COLUMNS},
        status=TransferHistoryStatus(row.status),
        refund_reason=XferStatus(row.refund_reason),
        kind=SendKind(row.kind) if row.kind else None,
    )


def refund_basis(connection: Connection, transfer_ids: Collection[bytes]) -> dict[TransferId, set[str]]:
    """The ids of the requests and signatures that the refund of each transfer depends on."""
    found: dict[TransferId, set[str]] = {}
    rows = connection.execute(
        select(RefundBasis.transfer_id, RefundBasis.event_id).where(
            is_one_of(connection, RefundBasis.transfer_id, transfer_ids)
        )
    )
    for row in rows:
        found.setdefault(row.transfer_id, set()).add(row.event_id)
    return found


def transfers_in_status(
    connection: Connection, src_chain_ids: Collection[int], statuses: Collection[TransferHistoryStatus]
) -> Sequence[bytes]:
    return connection.scalars(
        select(Transfer.transfer_id).where(
            Transfer.src_chain_id.in_(src_chain_ids), Transfer.status.in_([int(s) for s in statuses])
        )
    ).all()


def count_transfers(connection: Connection) -> int:
    return connection.scalar(select(func.count()).select_from(Transfer)) or 0


AsideRow = Row[*tuple[Any, ...]]  # the columns of signatures_aside


def load_aside(connection: Connection, transfer_ids: Collection[bytes]) -> Sequence[AsideRow]:
    """The quarantined signatures of these transfers, in an order that does not depend on their arrival."""
    table = SignatureAside
    of_transfers = select(table.__table__).where(is_one_of(connection, table.transfer_id, transfer_ids))
    return connection.execute(of_transfers.order_by(table.at, table.event_id, table.signature)).all()


def count_aside(connection: Connection, transfer_ids: Collection[bytes]) -> dict[bytes, int]:
    table = SignatureAside
    counted = select(table.transfer_id, func.count()).where(
        is_one_of(connection, table.transfer_id, transfer_ids)
    )
    return {row[0]: row[1] for row in connection.execute(counted.group_by(table.transfer_id))}


def transfers_with_aside(connection: Connection, src_chain_ids: Collection[int]) -> Sequence[bytes]:
    """The transfers from these chains that have quarantined signatures."""
    aside = select(SignatureAside.transfer_id)
    return connection.scalars(
        select(Transfer.transfer_id).where(
            Transfer.transfer_id.in_(aside), Transfer.src_chain_id.in_(src_chain_ids)
        )
    ).all()


def load_not_needed(
    connection: Connection, events: Collection[TransferEvent]
) -> dict[EventKey, list[Logged[TransferEvent]]]:
    """The acceptances under the keys of these events that are left out of the projected log, in its order."""
    rows = connection.execute(
        select(Event.event_id, Event.seq, Event.type, Event.body, Event.limited_to)
        .join(SignatureNotNeeded, SignatureNotNeeded.seq == Event.seq)
        .where(
            is_one_of(connection, SignatureNotNeeded.transfer_id, {event.transfer_id for event in events}),
            is_one_of(connection, Event.event_id, {event.id for event in events}),
        )
        .order_by(Event.seq)
    )
    found: dict[EventKey, list[Logged[TransferEvent]]] = defaultdict(list)
    for row in rows:
        event = cast("TransferEvent", decode_event(row.event_id, row.type, row.body))
        found[event.key].append(Logged(row.seq, event, row.limited_to))
    return found


AnomalyRow = Row[*tuple[Any, ...]]


def anomalies_of_subjects(connection: Connection, subjects: Collection[str]) -> Sequence[AnomalyRow]:
    return _ANOMALIES(connection, subjects=subjects)


def first_raised(connection: Connection, subject: str) -> datetime | None:
    return connection.scalar(select(Anomaly.first_at).where(Anomaly.subject == subject))


def rotation_subjects(connection: Connection, chain_id: ChainId) -> Sequence[str]:
    return connection.scalars(
        select(Anomaly.subject).where(
            Anomaly.chain_id == chain_id, Anomaly.kind == AnomalyKind.ROTATION_KEEPS_TOO_LITTLE.value
        )
    ).all()
