"""Adds to the sums that many transfers share: pools, volumes, trends, how far chains were read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final

from msgspec.structs import asdict
from sqlalchemy import Connection, delete, tuple_, update

from app.db.upserts import upsert
from app.estimates.models import PoolCounter, PoolVolume
from app.feed.projection.anomalies import Subject, pool_anomalies, sync_anomalies
from app.feed.queries.chains import (
    HEADS,
    highest_canonical_block,
    load_progress,
    logged_readings,
    transfers_by_block,
    transfers_by_update,
)
from app.feed.queries.pools import load_counters, load_volumes
from app.feed.queries.pruned import pruned_readings, pruned_up_to
from app.network.rules.pools import PoolCounters
from app.refunds.queries import load_histories
from app.transfers.models import ChainProgress, TrendCount
from app.transfers.queries.logged import last_reorg
from app.transfers.queries.trends import SPANS, SpanKey, load_trends
from app.transfers.rules.anomalies import Anomaly
from app.transfers.rules.events.canonical import ChainReading
from app.transfers.rules.events.event_types import EVENT_CLASSES, ChainEvent
from app.transfers.rules.sums import SharedChange, TrendKey, Trends, VolumeKey
from app.values.identifiers import BlockNumber, ChainId, PoolKey

_DELETED_AT_ONCE: Final = 500

_NONE: Final[Mapping[Subject, Sequence[Anomaly]]] = MappingProxyType({})

_OF_CHAINS: Final = tuple(each.type for each in EVENT_CLASSES.values() if issubclass(each, ChainEvent))


def apply_shared(
    connection: Connection,
    change: SharedChange,
    now: datetime,
    anomalies: Mapping[Subject, Sequence[Anomaly]] = _NONE,
) -> None:
    """Add a change to the pools' counters, epoch volumes and trends. The caller is the only writer.

    :param anomalies: of what was changed together with the pools, to be stored with those of the pools.
    """
    found = dict(anomalies)
    if counters := {key: moved for key, moved in change.counters.items() if moved}:
        _apply_counters(connection, counters)
        found = pool_anomalies(connection, counters, now) | found
    sync_anomalies(connection, found)
    if volumes := {key: amount for key, amount in change.volumes.items() if amount}:
        apply_volumes(connection, volumes)
    if trends := {key: change for key, change in change.trends.items() if change}:
        apply_trends(connection, trends)


def _apply_counters(connection: Connection, counters: Mapping[PoolKey, PoolCounters]) -> None:
    known = load_counters(connection, counters)
    rows = [
        {**key._asdict(), **asdict(known.get(key, PoolCounters()) + moved)} for key, moved in counters.items()
    ]
    upsert(connection, PoolCounter, rows)


def apply_volumes(connection: Connection, moved: Mapping[VolumeKey, int]) -> None:
    """Add to the volumes of pools by the minute. The caller is the only writer."""
    known = load_volumes(connection, moved)
    rows = [
        {"chain_id": key[0], "symbol": key[1], "minute": key[2], "amount": known.get(key, 0) + amount}
        for key, amount in moved.items()
    ]
    upsert(connection, PoolVolume, rows)


def apply_trends(connection: Connection, moved: Mapping[TrendKey, Trends], sign: int = 1) -> None:
    """Add to the trends of transfers by the hour and by the day; with a sign of -1 subtract.

    Spans without counts have no row. The caller is the only writer.
    """
    sums: dict[SpanKey, Trends] = defaultdict(Trends)
    for key, change in moved.items():
        for hours in SPANS:
            sums[SpanKey.of(key, hours)].add(change, sign)
    for span, known in load_trends(connection, sums).items():
        sums[span].add(known)
    left = {span: counts for span, counts in sums.items() if counts}
    upsert(connection, TrendCount, [{**span._asdict(), **asdict(counts)} for span, counts in left.items()])
    _remove_trends(connection, sums.keys() - left.keys())


def _remove_trends(connection: Connection, spans: Collection[SpanKey]) -> None:
    """Delete rows by their keys. A search for empty ones would read the table, which only grows."""
    key = tuple_(*(getattr(TrendCount, name) for name in SpanKey._fields))
    keys = sorted(spans)
    for start in range(0, len(keys), _DELETED_AT_ONCE):
        some = keys[start : start + _DELETED_AT_ONCE]
        connection.execute(delete(TrendCount).where(key.in_(some)))


def advance(connection: Connection, readings: Mapping[ChainId, ChainReading]) -> None:
    """Store how far chains have been read. A block never goes down here."""
    if not readings:
        return
    known = load_progress(connection, list(readings))
    rows = []
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


def go_back(connection: Connection, chain_id: ChainId, from_block: BlockNumber) -> None:
    """Store the block before a reorg as the highest one read: all at or above the reorg's is orphaned."""
    _write_highest(connection, chain_id, _before(from_block))


def find_progress(connection: Connection, chain_id: ChainId) -> None:
    """Find again how far a chain was read, as events may count no more (docs/interface/events.md#reorgs)."""
    find_newest(connection, chain_id)
    _write_highest(connection, chain_id, highest_of(connection, chain_id))


def highest_of(connection: Connection, chain_id: ChainId) -> BlockNumber | None:
    """The highest block up to which a chain was read, from the log."""
    found = [highest_canonical_block(connection, chain_id, event_type) for event_type in _OF_CHAINS]
    found.append(pruned_up_to(connection, chain_id))
    if (from_block := last_reorg(connection, chain_id)) is not None:
        found.append(_before(from_block))
    known = max((BlockNumber(block) for block in found if block is not None), default=None)
    return _highest_of_transfers(connection, chain_id, known)


def find_newest(connection: Connection, chain_id: ChainId) -> None:
    """Find again when the newest event of a chain happened, as events may count no longer."""
    newest = newest_of(connection, chain_id)
    of_chain = ChainProgress.chain_id == chain_id
    if newest is None:
        connection.execute(delete(ChainProgress).where(of_chain))
    else:
        advance(connection, {chain_id: ChainReading(None, newest)})
        connection.execute(update(ChainProgress).where(of_chain).values(newest_at=newest))


def newest_of(connection: Connection, chain_id: ChainId) -> datetime | None:
    """When the newest event of a chain happened, from the log; None where the log has none."""
    readings = (logged_readings(connection, chain_id), pruned_readings(connection))
    times = [found[chain_id].newest_at for found in readings if chain_id in found]
    return _newest_of_transfers(connection, chain_id, max(times, default=None))


def _newest_of_transfers(
    connection: Connection, chain_id: ChainId, known: datetime | None
) -> datetime | None:
    """The newest time of a canonical event of a transfer on the chain, or the known one if later.

    The newest canonical event of a transfer is no later than the transfer's ``updated_at``.
    """
    found = [] if known is None else [known]
    offset = 0
    while seen := transfers_by_update(connection, chain_id, known, offset):
        for history in load_histories(connection, [row.transfer_id for row in seen]).values():
            if (reading := dict(history.readings()).get(chain_id)) is not None:
                found.append(reading.newest_at)
        if found and max(found) >= seen[-1].updated_at:
            break
        offset += HEADS
    return max(found, default=None)


def _highest_of_transfers(
    connection: Connection, chain_id: ChainId, known: BlockNumber | None
) -> BlockNumber | None:
    """The highest block that a canonical event of a transfer has on the chain, or the known one if higher."""
    found = [] if known is None else [known]
    offset = 0
    while seen := transfers_by_block(connection, chain_id, known, offset):
        for history in load_histories(connection, [row.transfer_id for row in seen]).values():
            reading = dict(history.readings()).get(chain_id)
            if reading is not None and reading.highest_block is not None:
                found.append(reading.highest_block)
        if found and max(found) >= seen[-1].highest:
            break
        offset += HEADS
    return max(found, default=None)


def _before(block: BlockNumber) -> BlockNumber | None:
    return BlockNumber(block - 1) if block else None


def _write_highest(connection: Connection, chain_id: ChainId, highest: BlockNumber | None) -> None:
    of_chain = ChainProgress.chain_id == chain_id
    connection.execute(update(ChainProgress).where(of_chain).values(highest_block=highest))
