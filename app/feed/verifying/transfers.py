"""Checks that the rows of transfers follow from their logs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace
from sqlalchemy import Connection, delete, select

from app.db.types import is_one_of
from app.feed.models import JournalRow, TransferBlock
from app.feed.projection.anomalies import Subject, anomaly_row, sync_anomalies
from app.feed.projection.journal import catch_up
from app.feed.projection.latencies import latency_row, write_latencies
from app.feed.projection.sums import take_out
from app.feed.projection.transfers import (
    block_rows,
    hash_rows,
    latencies_of,
    project_again,
    refund_row,
    transfer_row,
    write_account_entries,
)
from app.feed.queries.transfers import anomalies_of_subjects, last_rows, load_states, stored_entries
from app.feed.verifying.mismatches import Difference, Values, differences, rows_of
from app.latency.models import LatencyRecord
from app.network.facts import NetworkFacts
from app.network.queries import load_network_facts
from app.refunds.models import SignatureNotNeeded, WithdrawId
from app.refunds.queries import ids_of_transfers, load_histories, transfers_with_ids
from app.refunds.used_ids import WithdrawIds
from app.transfers import models as table
from app.transfers.effects import SharedChange, account_entries, latency_of
from app.transfers.models import Refund, RefundBasis, Transfer, TransferAccount, TransferHash
from app.transfers.reported import TransferHistory
from app.transfers.signatures import not_needed, without
from app.transfers.state import TransferState, transfer_state
from app.transfers.subjects import transfer_of_subject
from app.values.codes import TransferHistoryStatus
from app.values.identifiers import TransferId

OPEN: Final = (
    TransferHistoryStatus.TRANSFER_REQUESTING_REFUND,
    TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED,
)
"""The basis of a refund is read while it is open: other validators change it only then."""

_ROWS: Final = (Transfer, TransferBlock, TransferHash, Refund, WithdrawId, LatencyRecord)
_OF_SUBJECT: Final = ("subject", "kind")

States = Mapping[TransferId, TransferState]


def compare_transfers(connection: Connection, transfer_ids: Sequence[TransferId]) -> list[Difference]:
    """The differences between all that is stored of some transfers and their logs."""
    facts = load_network_facts(connection)
    histories = load_histories(connection, transfer_ids, every_signature=True)
    states = _project(connection, [each for each in histories.values() if each.is_known], facts)
    found: list[Difference] = []
    for model in _ROWS:
        found += differences(
            model, _stored(connection, model, transfer_ids), _expected(model, states.values())
        )
    open_now = [i for i in transfer_ids if i not in states or states[i].status in OPEN]
    basis = [
        {"transfer_id": i, "event_id": event_id}
        for i in open_now
        for event_id in (states[i].refund_basis if i in states else ())
    ]
    found += differences(RefundBasis, _stored(connection, RefundBasis, open_now), basis)
    entries = [entry._asdict() for entry in account_entries(states.values())]
    there = [entry._asdict() for entry in stored_entries(connection, account_entries(states.values()))]
    found += differences(TransferAccount, there, entries)
    found += _anomalies(connection, transfer_ids, states)
    found += _journal(connection, transfer_ids, states)
    return found + list(_left_out(connection, histories, states, facts))


def _project(connection: Connection, histories: Sequence[TransferHistory], facts: NetworkFacts) -> States:
    """The states that follow from whole logs, as :func:`app.feed.projection.transfers.project` finds it."""
    logged = [without(each, not_needed(each, facts)) for each in histories]
    states = {each.transfer_id: transfer_state(each, facts) for each in logged}
    withdraw_ids = WithdrawIds.of(connection, logged, states)
    for history in logged:
        if history.paid_ids != (paid_ids := withdraw_ids.paid_elsewhere(history.transfer_id)):
            states[history.transfer_id] = transfer_state(replace(history, paid_ids=paid_ids), facts)
    return states


def _stored(connection: Connection, model: Any, ids: Collection[bytes]) -> list[Values]:
    return rows_of(connection, select(model.__table__).where(is_one_of(connection, model.transfer_id, ids)))


def _expected(model: type[Any], states: Iterable[TransferState]) -> Iterator[Values]:
    for state in states:
        if model is Transfer:
            yield transfer_row(state)
        elif model is TransferBlock:
            yield from block_rows(state)
        elif model is TransferHash:
            yield from hash_rows(state)
        elif model is Refund and state.evidence is not None:
            yield refund_row(state)
        elif model is WithdrawId:
            for withdraw_id, paid in state.withdraw_ids:
                yield {"transfer_id": state.transfer_id, "withdraw_id": withdraw_id, "paid": paid}
        elif model is LatencyRecord and (latency := latency_of(state)) is not None:
            yield latency_row(state.transfer_id, latency)


def _anomalies(connection: Connection, ids: Sequence[TransferId], states: States) -> Iterator[Difference]:
    subjects = {i: Subject.transfer(i) for i in ids}
    stored = anomalies_of_subjects(connection, [subject.name for subject in subjects.values()])
    expected = [
        anomaly_row(subjects[i], anomaly) for i, state in states.items() for anomaly in state.anomalies
    ]
    there = (row._asdict() for row in stored)
    return differences(table.Anomaly, there, expected, key=_OF_SUBJECT)


def _journal(connection: Connection, ids: Sequence[TransferId], states: States) -> Iterator[Difference]:
    """The transfers whose last row has another status. Those from before the journal may have no row."""
    for row in last_rows(connection, ids):
        state = states.get(row.transfer_id)
        expected = (0, 0) if state is None else (int(state.status), int(state.refund_reason))
        if (row.status, row.refund_reason) != expected:
            yield Difference(
                JournalRow.__tablename__,
                {"transfer_id": row.transfer_id},
                {"status": row.status, "refund_reason": row.refund_reason},
                dict(zip(("status", "refund_reason"), expected, strict=True)),
            )


def _left_out(
    connection: Connection,
    histories: Mapping[bytes, TransferHistory],
    states: States,
    facts: NetworkFacts,
) -> Iterator[Difference]:
    """Transfers whose next projection would differ, because signatures that are needed are left out."""
    left_out: dict[TransferId, set[int]] = {}
    for row in _stored(connection, SignatureNotNeeded, list(states)):
        left_out.setdefault(row["transfer_id"], set()).add(row["seq"])
    histories_left = [without(histories[i], positions) for i, positions in left_out.items()]
    for transfer_id, state in _project(connection, histories_left, facts).items():
        if transfer_row(state) != transfer_row(states[transfer_id]):
            key = {"transfer_id": transfer_id}
            yield Difference(SignatureNotNeeded.__tablename__, key, dict[str, Any](), None)


def repair_transfers(connection: Connection, found: Iterable[Difference], now: datetime) -> None:
    """Write again all about the transfers that differ, from their logs. The caller is the only writer.

    Sums change by the difference between the stored and the new state.
    """
    ids = sorted({_transfer(each) for each in found})
    facts = load_network_facts(connection)
    old = load_states(connection, ids)
    histories = load_histories(connection, ids, every_signature=True).values()
    new = _project(connection, [each for each in histories if each.is_known], facts)
    shared = {each for known in ids_of_transfers(connection, ids).values() for each in known}
    change = SharedChange()
    for state in old.values():
        change.add(state, -1)
    take_out(connection, change)
    write_latencies(connection, latencies_of(old), {})
    write_account_entries(connection, [*old.values(), *new.values()], ())
    for model in (
        LatencyRecord, Refund, RefundBasis, WithdrawId, SignatureNotNeeded, TransferBlock, TransferHash,
        Transfer,
    ):  # fmt: skip
        connection.execute(delete(model).where(is_one_of(connection, model.transfer_id, ids)))
    project_again(connection, ids, facts, now)
    sync_anomalies(connection, {Subject.transfer(i): () for i in ids if i not in new})
    project_again(connection, sorted(transfers_with_ids(connection, shared) - set(ids)), facts, now)
    catch_up(connection, ids, new, now)


def _transfer(difference: Difference) -> TransferId:
    if (transfer_id := difference.key.get("transfer_id")) is not None:
        return TransferId(transfer_id)
    return TransferId(transfer_of_subject(difference.key["subject"]) or b"")
