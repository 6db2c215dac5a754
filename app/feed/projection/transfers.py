"""Writes what follows from transfers' logs: the transfers, their evidence, sums and latencies."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from msgspec.structs import replace
from sqlalchemy import Connection, delete, insert

from app.cooperation import in_turns
from app.db.engine import HandedIn
from app.db.types import is_one_of
from app.db.upserts import append, delete_rows, upsert
from app.feed.models import TransferBlock
from app.feed.projection.anomalies import transfer_anomalies
from app.feed.projection.journal import Journal, Place, Published, Step, take_next_number
from app.feed.projection.latencies import write_latencies
from app.feed.projection.shared import advance, apply_shared, find_progress
from app.feed.projection.signatures import with_signatures_aside, without_needless
from app.feed.queries.transfers import STATE_COLUMNS, load_states, refund_basis, with_evidence
from app.network.rules.validation_facts import NetworkFacts
from app.refunds.queries import count_evidence, load_histories
from app.refunds.used_ids import WithdrawIds
from app.transfers.models import Refund, RefundBasis, Transfer, TransferAccount, TransferHash
from app.transfers.rules.events.canonical import ChainReading
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.projected import TransferState, transfer_state
from app.transfers.rules.refunds.request_message import PaidIds
from app.transfers.rules.sums import Latency, SharedChange, account_entries, latency_of
from app.values.codes import TransferHistoryStatus
from app.values.identifiers import ChainId, TransferId

_STATE_VALUES: Final = attrgetter(*STATE_COLUMNS)

CHUNK = 500
"""Transfers projected at a time: bounds memory and the length of a statement."""

States = Mapping[TransferId, TransferState]

STATUSES_CHANGED: Final = HandedIn[[Sequence[Published], datetime], None]("statuses_changed")
"""Called when transfers are projected, with those whose status changed, and the time."""

_SILENT: Final = "gateway_publishes_nothing"


def publish_nothing(connection: Connection, now: datetime) -> None:
    """Publish no more changes in this transaction, because it only changes how transfers are stored."""
    take_next_number(connection, now)
    project_silently(connection)


def project_silently(connection: Connection) -> None:
    """Note no changes in the journal in this transaction, and publish none."""
    connection.execution_options(**{_SILENT: True})


def project_again(
    connection: Connection, transfer_ids: Iterable[bytes], facts: NetworkFacts, now: datetime
) -> None:
    ids = list(dict.fromkeys(transfer_ids))
    if not ids:
        return
    place = Place.now(connection)
    for start in range(0, len(ids), CHUNK):
        histories = load_histories(connection, ids[start : start + CHUNK]).values()
        steps = [[Step(place, history)] for history in histories]
        project(connection, steps, facts, now, again=True)


def project(
    connection: Connection,
    transfers: Iterable[Sequence[Step]],
    facts: NetworkFacts,
    now: datetime,
    *,
    again: bool = False,
) -> None:
    """Project the last of the steps of each transfer and write what changed, including the sums.

    :param facts: with the current validator sets of the source chains where refunds are prepared.
    :param again: whether the log's last entry may have changed them already.
    """
    known = [steps for steps in transfers if steps[-1].history.is_known]
    merged = with_signatures_aside(connection, known, facts)
    logged = without_needless(connection, (steps[-1].history for steps in merged), facts)
    new = {history.transfer_id: transfer_state(history, facts) for history in in_turns(logged)}
    if not new:
        return
    old = with_evidence(connection, load_states(connection, new))
    withdraw_ids = WithdrawIds.of(connection, logged, new)
    paid_elsewhere: dict[TransferId, PaidIds] = {}
    for history in logged:
        if history.paid_ids != (paid_ids := withdraw_ids.paid_elsewhere(history.transfer_id)):
            paid_elsewhere[history.transfer_id] = paid_ids
            new[history.transfer_id] = transfer_state(replace(history, paid_ids=paid_ids), facts)
    _write_rows(connection, old, new, withdraw_ids, logged)
    change = SharedChange()
    for transfer_id, state in in_turns(new.items()):
        change.replace(old.get(transfer_id), state)
    apply_shared(connection, change, now, transfer_anomalies(new.values()))
    _advance_chains(connection, new.values())
    _settle_chains(connection, (steps[-1].history for steps in known), new)
    if not connection.get_execution_options().get(_SILENT):
        as_paid = [_as_paid(steps, paid_elsewhere) for steps in merged]
        _record(connection, as_paid, old, new, facts, now, again=again)
    project_again(connection, sorted(withdraw_ids.others_to_project(connection)), facts, now)


def _as_paid(steps: Sequence[Step], paid_elsewhere: Mapping[TransferId, PaidIds]) -> Sequence[Step]:
    paid_ids = paid_elsewhere.get(steps[-1].history.transfer_id)
    return steps if paid_ids is None else [each.with_paid_ids(paid_ids) for each in steps]


def _record(
    connection: Connection,
    transfers: Sequence[Sequence[Step]],
    old: States,
    new: States,
    facts: NetworkFacts,
    now: datetime,
    *,
    again: bool,
) -> None:
    """Write what the steps of transfers changed into the journal, and have it published."""
    journal = Journal(facts)
    for steps in in_turns(transfers):
        transfer_id = steps[-1].history.transfer_id
        journal.take(steps, old.get(transfer_id), new[transfer_id])
    journal.write(connection, now, again=again)
    changed = {each.change.transfer_id for each in journal.published}
    histories = (steps[-1].history for steps in transfers)
    claimable = (each for each in histories if each.transfer_id in changed and new[each.transfer_id].evidence)
    count_evidence(connection, ((each, new[each.transfer_id]) for each in claimable), now)
    STATUSES_CHANGED(connection, journal.published, now)


def _write_rows(
    connection: Connection,
    old: dict[TransferId, TransferState],
    new: dict[TransferId, TransferState],
    withdraw_ids: WithdrawIds,
    histories: Iterable[TransferHistory],
) -> None:
    _write_transfers(connection, old, new)
    withdraw_ids.write(connection)
    write_account_entries(connection, old.values(), new.values())
    _write_hashes(connection, old, new)
    _write_refunds(connection, old, new)
    _write_basis(connection, histories, new)
    write_latencies(connection, latencies_of(old), latencies_of(new), new.keys() - old.keys())


def _write_transfers(
    connection: Connection, old: dict[TransferId, TransferState], new: dict[TransferId, TransferState]
) -> None:
    """Write the rows of the transfers and of their blocks. Those that are not in ``old`` have no rows yet."""
    fresh = [state for transfer_id, state in new.items() if transfer_id not in old]
    append(connection, Transfer, [transfer_row(state) for state in fresh])
    append(connection, TransferBlock, [row for state in fresh for row in block_rows(state)])
    known = [(old[transfer_id], state) for transfer_id, state in new.items() if transfer_id in old]
    rows = [row for before, state in known if (row := transfer_row(state)) != transfer_row(before)]
    upsert(connection, Transfer, rows)
    upsert(connection, TransferBlock, [row for _, state in known for row in block_rows(state)])


def transfer_row(state: TransferState) -> dict[str, Any]:
    return {
        **dict(zip(STATE_COLUMNS, _STATE_VALUES(state), strict=True)),
        "status": int(state.status),
        "refund_reason": int(state.refund_reason),
        "kind": state.kind.value if state.kind else None,
    }


def block_rows(state: TransferState) -> Iterable[dict[str, Any]]:
    for chain_id, highest in state.blocks:
        yield {"transfer_id": state.transfer_id, "chain_id": chain_id, "highest": highest}


def _write_hashes(
    connection: Connection, old: dict[TransferId, TransferState], new: dict[TransferId, TransferState]
) -> None:
    """Write the hashes that the transfer's row does not hold. Few transfers have any, so all are replaced."""
    if old:
        connection.execute(delete(TransferHash).where(is_one_of(connection, TransferHash.transfer_id, old)))
    rows = [row for state in new.values() for row in hash_rows(state)]
    if rows:
        connection.execute(insert(TransferHash), rows)


def hash_rows(state: TransferState) -> Iterable[dict[str, Any]]:
    for tx_hash in state.other_hashes:
        yield {"transfer_id": state.transfer_id, "tx_hash": tx_hash}


def _write_refunds(
    connection: Connection, old: dict[TransferId, TransferState], new: dict[TransferId, TransferState]
) -> None:
    served = TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED
    gone = [i for i, state in old.items() if state.status is served and new[i].evidence is None]
    if gone:
        connection.execute(delete(Refund).where(Refund.transfer_id.in_(gone)))
    upsert(connection, Refund, [refund_row(state) for state in new.values() if state.evidence is not None])


def _write_basis(
    connection: Connection, histories: Iterable[TransferHistory], new: dict[TransferId, TransferState]
) -> None:
    refunds = [history.transfer_id for history in histories if history.has_request]
    if not refunds:
        return
    known = refund_basis(connection, refunds)
    changed = [i for i in refunds if known.get(i, set()) != new[i].refund_basis]
    if changed:
        connection.execute(delete(RefundBasis).where(RefundBasis.transfer_id.in_(changed)))
    rows = [{"transfer_id": i, "event_id": event_id} for i in changed for event_id in new[i].refund_basis]
    if rows:
        connection.execute(insert(RefundBasis), rows)


def refund_row(state: TransferState) -> dict[str, Any]:
    """The row of a refund. The state must have evidence."""
    evidence = state.evidence
    assert evidence is not None  # noqa: S101
    return {
        "transfer_id": state.transfer_id,
        "wd_onchain": evidence.wd_onchain,
        "sorted_sigs": _base64(evidence.sorted_sigs),
        "signers": _base64(evidence.signers),
        "powers": _base64(evidence.powers),
    }


def _base64(values: Iterable[bytes]) -> list[str]:
    return [base64.b64encode(value).decode() for value in values]


def latencies_of(states: Mapping[TransferId, TransferState]) -> dict[TransferId, Latency]:
    return {i: latency for i, state in states.items() if (latency := latency_of(state)) is not None}


def _advance_chains(connection: Connection, states: Iterable[TransferState]) -> None:
    readings: dict[ChainId, ChainReading] = {}
    for state in states:
        for chain_id, reading in state.readings:
            readings[chain_id] = reading.furthest(readings.get(chain_id))
    advance(connection, readings)


def _settle_chains(
    connection: Connection,
    histories: Iterable[TransferHistory],
    new: Mapping[TransferId, TransferState],
) -> None:
    """Where events of a transfer disagree about its chains, which is rare, only count those of its send."""
    disputed: set[ChainId] = set()
    for history in histories:
        if not (chain_ids := history.disputed_chains()):
            continue
        disputed |= chain_ids
        of_transfer = TransferBlock.transfer_id == history.transfer_id
        gone = chain_ids - dict(new[history.transfer_id].blocks).keys()
        connection.execute(delete(TransferBlock).where(of_transfer, TransferBlock.chain_id.in_(gone)))
    for chain_id in sorted(disputed):
        find_progress(connection, chain_id)


def write_account_entries(
    connection: Connection, before: Iterable[TransferState], after: Iterable[TransferState]
) -> None:
    """Replace the entries of ``before`` by those of ``after``. Those in both are not written."""
    old, new = account_entries(before), account_entries(after)
    if gone := old - new:
        delete_rows(connection, TransferAccount, [entry._asdict() for entry in sorted(gone)])
    append(connection, TransferAccount, [entry._asdict() for entry in sorted(new - old)])
