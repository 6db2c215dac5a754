"""Updates the table of anomalies to those that hold now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, delete, insert, update

from app.feed.queries.pools import load_pools_now
from app.feed.queries.transfers import AnomalyRow, anomalies_of_subjects, first_raised, rotation_subjects
from app.network.rules.pools import PoolCounters
from app.transfers import models as table
from app.transfers.rules.anomalies import Anomaly, AnomalyKind
from app.transfers.rules.events.event_types import Event
from app.transfers.rules.projected import TransferState
from app.values.identifiers import ChainId, PoolKey

CHUNK = 500


class Subject(Struct, frozen=True):
    """The subject of an anomaly."""

    name: str
    transfer_id: bytes | None = None
    chain_id: ChainId | None = None

    @classmethod
    def transfer(cls, transfer_id: bytes) -> Subject:
        return cls(f"transfer:0x{transfer_id.hex()}", transfer_id=transfer_id)

    @classmethod
    def pool(cls, chain_id: ChainId, symbol: str) -> Subject:
        return cls(f"pool:{chain_id}:{symbol}", chain_id=chain_id)

    @classmethod
    def event(cls, event: Event) -> Subject:
        name = f"event:{event.subject}:{event.id}"
        return cls(name, getattr(event, "transfer_id", None), getattr(event, "chain_id", None))


def sync_anomalies(connection: Connection, found: Mapping[Subject, Sequence[Anomaly]]) -> None:
    """Replace the stored anomalies of each subject by those found."""
    subjects = list(found)
    for start in range(0, len(subjects), CHUNK):
        chunk = subjects[start : start + CHUNK]
        names = [subject.name for subject in chunk]
        rows = anomalies_of_subjects(connection, names)
        known = {(row.subject, row.kind): row for row in rows}
        wanted = {(s.name, a.kind.value): (s, a) for s in chunk for a in found[s]}
        gone = [row.id for key, row in known.items() if key not in wanted]
        if gone:
            connection.execute(delete(table.Anomaly).where(table.Anomaly.id.in_(gone)))
        new = [anomaly_row(*pair) for key, pair in wanted.items() if key not in known]
        if new:
            connection.execute(insert(table.Anomaly), new)
        for key, (subject, anomaly) in wanted.items():
            if key in known:
                _renew(connection, known[key], anomaly_row(subject, anomaly))


def transfer_anomalies(states: Iterable[TransferState]) -> dict[Subject, Sequence[Anomaly]]:
    return {Subject.transfer(state.transfer_id): state.anomalies for state in states}


def anomaly_row(subject: Subject, anomaly: Anomaly) -> dict[str, Any]:
    return {
        "kind": anomaly.kind.value,
        "subject": subject.name,
        "transfer_id": subject.transfer_id,
        "chain_id": subject.chain_id,
        "detail": anomaly.detail,
        "event_ids": list(anomaly.event_ids),
        "first_at": anomaly.first_at,
        "last_at": anomaly.last_at,
    }


def _renew(connection: Connection, known: AnomalyRow, row: dict[str, Any]) -> None:
    """Write what has changed. An anomaly that depends on other events than before is open again."""
    if not row["event_ids"]:
        row = row | {"first_at": known.first_at}  # no event has a time for it: the gateway's clock had
    if known.event_ids != row["event_ids"]:
        row = row | {"acknowledged_at": None, "acknowledged_by": None}
    if any(getattr(known, column) != value for column, value in row.items()):
        connection.execute(update(table.Anomaly).where(table.Anomaly.id == known.id).values(row))


def sync_rotation_anomalies(
    connection: Connection,
    chain_id: ChainId,
    found: Iterable[Anomaly],
    rotations: Collection[Event] | None = None,
) -> None:
    """Replace the stored anomalies of a chain's rotations by those found. Each has a subject of its own.

    :param rotations: of these; None: of all that the chain ever had.
    """
    prefix = f"rotation:{chain_id}:"
    if rotations is None:
        subjects = rotation_subjects(connection, chain_id)
    else:
        subjects = [prefix + event.id for event in rotations]
    wanted: dict[Subject, list[Anomaly]] = {Subject(name, chain_id=chain_id): [] for name in subjects}
    for anomaly in found:
        wanted[Subject(prefix + anomaly.event_ids[0], chain_id=chain_id)] = [anomaly]
    sync_anomalies(connection, wanted)


def raise_two_contents(connection: Connection, event: Event, now: datetime) -> None:
    """Store that an id came with other content. The refused content itself is not stored."""
    subject = Subject.event(event)
    first = first_raised(connection, subject.name)
    anomaly = Anomaly(
        AnomalyKind.ID_WITH_TWO_CONTENTS,
        "an id was reported again with other content; the second report was refused",
        (event.id,),
        first or now,
        now,
    )
    sync_anomalies(connection, {subject: [anomaly]})
    reopened = {"last_at": now, "acknowledged_at": None, "acknowledged_by": None}
    connection.execute(update(table.Anomaly).where(table.Anomaly.subject == subject.name).values(reopened))


def validate_pools(connection: Connection, pools: Iterable[PoolKey], now: datetime) -> None:
    """Replace the stored anomalies of these pools by those that hold now."""
    sync_anomalies(connection, pool_anomalies(connection, pools, now))


def pool_anomalies(
    connection: Connection, pools: Iterable[PoolKey], now: datetime
) -> dict[Subject, Sequence[Anomaly]]:
    """A balance or an inbound limit under zero. Estimates count 0 there."""
    keys = list(pools)
    liquidity = load_pools_now(connection, keys)
    found: dict[Subject, Sequence[Anomaly]] = {}
    for key in keys:
        under = under_zero(liquidity.get(key))
        found[Subject.pool(*key)] = (
            [Anomaly(AnomalyKind.POOL_UNDER_ZERO, under, (), now, now)] if under else []
        )
    return found


def under_zero(pool: PoolCounters | None) -> str:
    """The figures of a pool that are under zero, in words; empty if the pool is not configured."""
    if pool is None:
        return ""  # no estimate rests on it
    values = (("the balance", pool.balance), ("the inbound limit", pool.inbound_limit))
    under = [f"{name} is {value}" for name, value in values if value < 0]
    return f"{' and '.join(under)} (smallest units)" if under else ""
