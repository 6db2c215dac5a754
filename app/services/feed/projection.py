"""Writing what follows from transfers' logs: the transfers, their evidence, sums and latencies."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from app.domain.codes import SendKind, TransferHistoryStatus, XferStatus
from app.domain.keys import TransferId
from app.domain.network_facts import NetworkFacts
from app.domain.transfer.effects import Latency, SharedChange, latency_of
from app.domain.transfer.state import ChainReading, TransferHistory, TransferState, transfer_state
from app.models.events import ChainProgress, TransferBlock
from app.models.pools import PoolCounter, PoolVolume
from app.models.transfers import Refund, Transfer, TransferHash
from app.models.upsert import upsert
from app.queries.estimates.pool_counters import counters_of
from app.services.feed.anomalies import Subject, judge_pools, sync_anomalies
from app.services.feed.latencies import write_latencies
from app.services.feed.log import load_histories

_COLUMNS = tuple(
    column.name
    for column in Transfer.__table__.columns
    if column.name not in ("kind", "status", "refund_reason")
)

CHUNK = 500
"""Transfers folded at a time: bounds memory and the length of a statement."""


def refold(connection: Connection, transfer_ids: Iterable[bytes], facts: NetworkFacts, now: datetime) -> None:
    """Fold transfers anew from their logs and write what changed."""
    ids = list(dict.fromkeys(transfer_ids))
    for start in range(0, len(ids), CHUNK):
        project(connection, load_histories(connection, ids[start : start + CHUNK]).values(), facts, now)


def project(
    connection: Connection, histories: Iterable[TransferHistory], facts: NetworkFacts, now: datetime
) -> None:
    """Fold these histories and write what changed, sums included."""
    new = {history.transfer_id: transfer_state(history, facts) for history in histories if history.log}
    if not new:
        return
    old = load_states(connection, new)
    upsert(connection, Transfer, [_transfer_row(state) for state in new.values()])
    upsert(connection, TransferBlock, [row for state in new.values() for row in _block_rows(state)])
    _write_hashes(connection, old, new)
    _write_refunds(connection, old, new)
    write_latencies(connection, latencies_of(old), latencies_of(new))
    change = SharedChange()
    for transfer_id, state in new.items():
        change.replace(old.get(transfer_id), state)
    apply_shared(connection, change, now)
    sync_anomalies(connection, {Subject.transfer(i): state.anomalies for i, state in new.items()})
    _advance_chains(connection, new.values())


def load_states(connection: Connection, ids: Iterable[bytes]) -> dict[TransferId, TransferState]:
    """What is projected now; without evidence, blocks and readings, which are not summed."""
    rows = connection.execute(select(Transfer.__table__).where(Transfer.transfer_id.in_(list(ids))))
    return {
        row.transfer_id: TransferState(
            **{name: getattr(row, name) for name in _COLUMNS},
            status=TransferHistoryStatus(row.status),
            refund_reason=XferStatus(row.refund_reason),
            kind=SendKind(row.kind) if row.kind else None,
        )
        for row in rows
    }


def _transfer_row(state: TransferState) -> dict[str, Any]:
    return {
        **{name: getattr(state, name) for name in _COLUMNS},
        "status": int(state.status),
        "refund_reason": int(state.refund_reason),
        "kind": state.kind.value if state.kind else None,
    }


def _block_rows(state: TransferState) -> Iterable[dict[str, Any]]:
    for chain_id, highest in state.blocks:
        yield {"transfer_id": state.transfer_id, "chain_id": chain_id, "highest": highest}


def _write_hashes(
    connection: Connection, old: dict[TransferId, TransferState], new: dict[TransferId, TransferState]
) -> None:
    """The hashes that the row does not hold. Few transfers have any, so they are written anew."""
    if old:
        connection.execute(delete(TransferHash).where(TransferHash.transfer_id.in_(list(old))))
    rows = [
        {"transfer_id": transfer_id, "tx_hash": tx_hash}
        for transfer_id, state in new.items()
        for tx_hash in state.other_hashes
    ]
    if rows:
        connection.execute(insert(TransferHash), rows)


def _write_refunds(
    connection: Connection, old: dict[TransferId, TransferState], new: dict[TransferId, TransferState]
) -> None:
    served = TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED
    gone = [i for i, state in old.items() if state.status is served and new[i].evidence is None]
    if gone:
        connection.execute(delete(Refund).where(Refund.transfer_id.in_(gone)))
    upsert(connection, Refund, [_refund_row(state) for state in new.values() if state.evidence is not None])


def _refund_row(state: TransferState) -> dict[str, Any]:
    evidence = state.evidence
    assert evidence is not None  # noqa: S101  the caller selects those that have evidence
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
    """The latencies that states count for, of those that do."""
    return {i: latency for i, state in states.items() if (latency := latency_of(state)) is not None}


def apply_shared(connection: Connection, change: SharedChange, now: datetime) -> None:
    """Add a change to the pools' counters and epoch volumes. The caller is the only writer."""
    counters = {key: moved for key, moved in change.counters.items() if moved}
    rows = []
    for key, moved in counters.items():
        rows.append({**key._asdict(), **asdict(counters_of(connection, key) + moved)})
    upsert(connection, PoolCounter, rows)
    judge_pools(connection, counters, now)
    apply_volumes(connection, {key: amount for key, amount in change.volumes.items() if amount})


def apply_volumes(connection: Connection, moved: Mapping[tuple[int, str, int], int]) -> None:
    """Add to the volumes of pools (chain, symbol) by minute."""
    rows = []
    for (chain_id, symbol, minute), amount in moved.items():
        key = (PoolVolume.chain_id == chain_id, PoolVolume.symbol == symbol, PoolVolume.minute == minute)
        known = connection.scalar(select(PoolVolume.amount).where(*key)) or 0
        rows.append({"chain_id": chain_id, "symbol": symbol, "minute": minute, "amount": known + amount})
    upsert(connection, PoolVolume, rows)


def _advance_chains(connection: Connection, states: Iterable[TransferState]) -> None:
    readings: dict[int, ChainReading] = {}
    for state in states:
        for chain_id, reading in state.readings:
            readings[chain_id] = reading.furthest(readings.get(chain_id))
    advance(connection, readings)


def advance(connection: Connection, readings: dict[int, ChainReading]) -> None:
    """Note how far chains have been read; never back (a reorg does that itself)."""
    if not readings:
        return
    rows = []
    stored = connection.execute(
        select(ChainProgress.__table__).where(ChainProgress.chain_id.in_(list(readings)))
    )
    known = {row.chain_id: ChainReading(row.highest_block, row.newest_at) for row in stored}
    for chain_id, reading in readings.items():
        furthest = reading.furthest(known.get(chain_id))
        if furthest != known.get(chain_id):
            rows.append(
                {
                    "chain_id": chain_id,
                    "highest_block": furthest.highest_block,
                    "newest_at": furthest.newest_at,
                }
            )
    upsert(connection, ChainProgress, rows)
