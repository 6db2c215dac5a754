"""Checks that the rows of chains, routes and transfers follow from the log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

from msgspec.structs import replace
from sqlalchemy import Connection, delete, select

from app.db.types import is_one_of
from app.estimates.models import PoolCounter, ReportedFee
from app.feed.models import JournalRow, TransferBlock
from app.feed.projection import pools
from app.feed.projection.anomalies import Subject, anomaly_row, sync_anomalies
from app.feed.projection.chains import WITHDRAWS, project_validators, project_withdraws, reported_set
from app.feed.projection.journal import catch_up
from app.feed.projection.latencies import latency_row, write_latencies
from app.feed.projection.shared import find_progress, highest_of, newest_of, take_out
from app.feed.projection.transfers import (
    STATUSES_CHANGED,
    block_rows,
    hash_rows,
    latencies_of,
    project_again,
    refund_row,
    transfer_row,
    write_account_entries,
)
from app.feed.queries.chains import load_chain_events
from app.feed.queries.log import every_retraction, every_target
from app.feed.queries.pools import canonical_liquidity, latest_fee, load_liquidity
from app.feed.queries.transfers import anomalies_of_subjects, last_rows, load_states, stored_entries
from app.feed.services.retract import rebuild_retracted
from app.feed.verifying.mismatches import Difference, Values, differences, rows_of
from app.latency.models import LatencyRecord
from app.network.models import ReportedValidatorSet
from app.network.queries import load_network_facts, load_opening_sets
from app.network.rules.validation_facts import NetworkFacts
from app.refunds.models import SignatureNotNeeded, WithdrawId
from app.refunds.models import WithdrawDone as UsedWithdraw
from app.refunds.queries import ids_of_transfers, load_histories, transfers_with_ids
from app.refunds.used_ids import WithdrawIds
from app.transfers import models as table
from app.transfers.models import (
    ChainProgress,
    Refund,
    RefundBasis,
    RetractedEvent,
    RetractionTarget,
    Transfer,
    TransferAccount,
    TransferHash,
)
from app.transfers.queries.logged import every_retracted_key, transfers_log
from app.transfers.rules.anomalies import AnomalyKind, anomalies_of_rotations
from app.transfers.rules.events.canonical import retracted_by
from app.transfers.rules.events.codec import decode_event, encode_event
from app.transfers.rules.events.event_types import (
    LiquidityWithdrawn,
    TransferSent,
    TransferSubmitted,
    ValidatorsUpdated,
    WithdrawDone,
)
from app.transfers.rules.events.fields import id_in_one_form
from app.transfers.rules.events.keys import transfer_of_subject
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.projected import TransferState, transfer_state
from app.transfers.rules.refund_signatures import not_needed, without
from app.transfers.rules.sums import SharedChange, account_entries, latency_of
from app.values.codes import TransferHistoryStatus
from app.values.identifiers import ChainId, RouteKey, TransferId


def with_reasons(
    connection: Connection, found: Sequence[Difference], histories: Mapping[bytes, TransferHistory]
) -> list[Difference]:
    """The differences of rows of transfers, each with its reason."""
    return [
        replace(each, reason="; ".join(_reasons(connection, histories[each.key["transfer_id"]])))
        for each in found
    ]


def _is_respelled(connection: Connection, transfer_id: TransferId) -> bool:
    """Whether any event of the transfer is stored otherwise than it is read."""
    return any(
        id_in_one_form(row.event_id) != row.event_id
        or encode_event(decode_event(row.event_id, row.type, row.body)) != row.body
        for row in transfers_log(connection, transfer_id)
    )


def _reasons(connection: Connection, history: TransferHistory) -> Iterator[str]:
    """What the transfer's log has that earlier releases read in another way."""
    if _is_respelled(connection, history.transfer_id):
        yield "its reports spell one account, number or id in several ways"
    if any(each.chains is not None and isinstance(each.event, TransferSubmitted) for each in history.log):
        yield "a token that is limited to chains announced it, which decides nothing beside other reports"
    if history.contradicting():
        yield "a send contradicts the transfer id"
    if history.misplaced(history.origin()):
        yield "reports of one fact together say that it was read on another chain"
    limits: dict[str, set[frozenset[int] | None]] = defaultdict(set)
    for each in history.log:
        if isinstance(each.event, TransferSent):
            limits[each.event.id].add(each.chains)
    if any(len(each) > 1 for each in limits.values()):
        yield "tokens with and without limits reported one send"


_USED: Final = (WithdrawDone.type, LiquidityWithdrawn.type)
_OF_EVENT: Final = ("subject", "event_id")
_OF_SUBJECT: Final = ("subject", "kind")


def compare_retractions(connection: Connection) -> list[Difference]:
    """Which events are retracted, and what the retractions name."""
    retractions = every_retraction(connection)
    noted = [
        {"subject": key.subject, "event_id": key.id, "seq": seq}
        for seq, keys in every_target(connection).items()
        for key in keys
    ]
    named = [
        {"subject": key.subject, "event_id": key.id, "seq": each.seq}
        for each in retractions
        for key in each.targets
    ]
    stored, expected = (
        [{"subject": key.subject, "event_id": key.id, "seq": seq} for key, seq in found.items()]
        for found in (every_retracted_key(connection), retracted_by(retractions))
    )
    return [
        *differences(RetractionTarget, noted, named),
        *differences(RetractedEvent, stored, expected, key=_OF_EVENT),
    ]


def repair_retractions(connection: Connection, _found: Iterable[Difference], _now: datetime) -> None:
    """Write them again."""
    rebuild_retracted(connection)


def compare_chain(connection: Connection, chain_id: ChainId) -> list[Difference]:
    """Validators, used withdraw ids and liquidity of a chain."""
    return [
        *_validators(connection, chain_id),
        *_withdraws(connection, chain_id),
        *_liquidity(connection, chain_id),
    ]


def _validators(connection: Connection, chain_id: ChainId) -> Iterator[Difference]:
    events = load_chain_events(connection, chain_id, [ValidatorsUpdated.type])
    canonical = sorted(cast("list[ValidatorsUpdated]", events), key=lambda event: event.order)
    rotations = [(event, reported_set(event, number)) for number, event in enumerate(canonical, start=1)]
    expected = [
        {
            "chain_id": chain_id,
            "version": members.version,
            "members": [["0x" + address.hex(), str(power)] for address, power in members.members],
            "at": event.at,
            "event_id": event.id,
        }
        for event, members in rotations[-1:]
    ]
    yield from differences(
        ReportedValidatorSet, _of_chain(connection, ReportedValidatorSet, chain_id), expected
    )
    raised = [
        anomaly_row(Subject(f"rotation:{chain_id}:{anomaly.event_ids[0]}", chain_id=chain_id), anomaly)
        for anomaly in anomalies_of_rotations(load_opening_sets(connection).get(chain_id), rotations)
    ]
    of_kind = table.Anomaly.kind == AnomalyKind.ROTATION_KEEPS_TOO_LITTLE.value
    stored = _of_chain(connection, table.Anomaly, chain_id, of_kind)
    yield from differences(table.Anomaly, stored, raised, key=_OF_SUBJECT)


def _withdraws(connection: Connection, chain_id: ChainId) -> Iterator[Difference]:
    expected = [
        {
            "withdraw_id": event.withdraw_id,
            "chain_id": chain_id,
            "event_id": event.id,
            "ref_id": event.ref_id if isinstance(event, WithdrawDone) else None,
        }
        for event in load_chain_events(connection, chain_id, _USED)
        if isinstance(event, WITHDRAWS) and event.withdraw_id is not None
    ]
    return differences(UsedWithdraw, _of_chain(connection, UsedWithdraw, chain_id), expected)


def _liquidity(connection: Connection, chain_id: ChainId) -> Iterator[Difference]:
    stored, expected = (
        [
            {"chain_id": chain_id, "symbol": symbol, "added": sums.added, "withdrawn": sums.withdrawn}
            for symbol, sums in found.items()
            if sums.added or sums.withdrawn
        ]
        for found in (load_liquidity(connection, chain_id), canonical_liquidity(connection, chain_id))
    )
    return differences(PoolCounter, stored, expected)


def _of_chain(connection: Connection, model: Any, chain_id: ChainId, *conditions: Any) -> list[Values]:
    return rows_of(connection, select(model.__table__).where(model.chain_id == chain_id, *conditions))


def repair_chain(
    connection: Connection, found: Collection[Difference], now: datetime, *, chain_id: ChainId
) -> None:
    """Write again what differs of a chain, and validate again what depends on it."""
    tables = {each.table for each in found}
    if UsedWithdraw.__tablename__ in tables:
        of_chain = UsedWithdraw.chain_id == chain_id
        ids = set(connection.scalars(select(UsedWithdraw.withdraw_id).where(of_chain)))
        connection.execute(delete(UsedWithdraw).where(of_chain))
        project_withdraws(connection, chain_id, None, now)
        affected = transfers_with_ids(connection, set(map(bytes, ids)))
        project_again(connection, sorted(affected), load_network_facts(connection), now)
    if tables & {ReportedValidatorSet.__tablename__, table.Anomaly.__tablename__}:
        project_validators(connection, chain_id, now)
    if PoolCounter.__tablename__ in tables:
        pools.recount_liquidity(connection, chain_id, now)


def compare_progress(connection: Connection, chain_id: ChainId) -> list[Difference]:
    """How far a chain was read. What is stored of transfers counts."""
    stored = _of_chain(connection, ChainProgress, chain_id)
    expected = []
    if (newest := newest_of(connection, chain_id)) is not None:
        highest = highest_of(connection, chain_id)
        expected.append({"chain_id": chain_id, "highest_block": highest, "newest_at": newest})
    return list(differences(ChainProgress, stored, expected))


def repair_progress(connection: Connection, found: Iterable[Difference], _now: datetime) -> None:
    """Find it again."""
    for each in found:
        find_progress(connection, each.key["chain_id"])


def compare_fees(connection: Connection, routes: Iterable[RouteKey]) -> list[Difference]:
    """Which reported fee of each of the routes counts."""
    found: list[Difference] = []
    for route in routes:
        of_route = (getattr(ReportedFee, name) == value for name, value in route._asdict().items())
        stored = rows_of(connection, select(ReportedFee.__table__).where(*of_route))
        fee = latest_fee(connection, route)
        found += differences(ReportedFee, stored, [] if fee is None else [pools.fee_row(fee)])
    return found


def repair_fees(connection: Connection, found: Iterable[Difference], _now: datetime) -> None:
    """Find them again."""
    pools.project_fees_again(
        connection, {RouteKey(*(each.key[n] for n in RouteKey._fields)) for each in found}
    )


OPEN: Final = (
    TransferHistoryStatus.TRANSFER_REQUESTING_REFUND,
    TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED,
)
"""The basis of a refund is read while it is open: other validators change it only then."""

_ROWS: Final = (Transfer, TransferBlock, TransferHash, Refund, WithdrawId, LatencyRecord)

States = Mapping[TransferId, TransferState]


def compare_transfers(connection: Connection, transfer_ids: Sequence[TransferId]) -> list[Difference]:
    """The differences between all that is stored of some transfers and their logs."""
    facts = load_network_facts(connection)
    histories = load_histories(connection, transfer_ids, every_signature=True)
    states = _project(connection, [each for each in histories.values() if each.is_known], facts)
    found: list[Difference] = []
    for model in _ROWS:
        of_model = list(
            differences(model, _stored(connection, model, transfer_ids), _expected(model, states.values()))
        )
        found += with_reasons(connection, of_model, histories) if model is Transfer else of_model
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
    others = sorted(transfers_with_ids(connection, shared) - set(ids))
    old |= load_states(connection, others)
    project_again(connection, others, facts, now)
    STATUSES_CHANGED(
        connection, catch_up(connection, old, load_states(connection, [*ids, *others]), now), now
    )


def _transfer(difference: Difference) -> TransferId:
    if (transfer_id := difference.key.get("transfer_id")) is not None:
        return TransferId(transfer_id)
    return TransferId(transfer_of_subject(difference.key["subject"]) or b"")
