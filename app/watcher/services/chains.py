"""The chains that are configured to be watched, how far each is read, and the switch that stops one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Row, update

from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor, AuditedChange
from app.audit.services import record
from app.db.database import Database
from app.db.engine import reading, run_read, writing
from app.db.upserts import lock_or_insert
from app.network.rules.watch_terms import KnownSend, WatchedNetwork, WatchTerms
from app.network.sections import Part
from app.network.snapshot import SnapshotSource
from app.values.identifiers import BlockNumber, ChainId, TransferId
from app.values.texts import one_line
from app.watcher.models import ChainWatch
from app.watcher.queries import faulty_urls, known_sends, newest_misses, waiting_counts, watch_rows
from app.watcher.rules.steps import Missed
from app.watcher.rules.watched import DisputedLog, WatchedChain, disputed_logs, watch_state
from app.watcher.services.doubts import disputed_counts, newest_disputed
from app.watcher.services.lease import stopped


def watch_terms(snapshots: SnapshotSource) -> Mapping[ChainId, WatchTerms]:
    """The chains with a ``watch_from_block``.

    :raises Unavailable: the configuration cannot be read.
    """
    return snapshots.current().watch_terms


def watched_network(database: Database, snapshots: SnapshotSource) -> WatchedNetwork:
    """The watched network, with the transfers that are known.

    :raises Unavailable: the configuration cannot be read.
    """
    snapshot = snapshots.current()
    core = snapshot.versions.get(Part.CORE)
    version = "" if core is None else str(core.version)
    return WatchedNetwork(version, snapshot.facts, partial(_sends_of, database))


def _sends_of(
    database: Database, chain_id: ChainId, transfer_ids: Collection[TransferId]
) -> Mapping[TransferId, KnownSend]:
    with reading(database.engine) as connection:
        return known_sends(connection, chain_id, transfer_ids)


MISSES_SHOWN: Final = 20
DISPUTED_SHOWN: Final = 5


class DatedMiss(Struct, frozen=True):
    """A reread that differed, and when.

    :param disputed: a block of it is disputed now, so what was removed may be true.
    """

    at: datetime
    missed: Missed
    disputed: bool = False


class FalseAnswer(Struct, frozen=True):
    """The last answer of a URL that cannot be true."""

    at: datetime
    source: str
    words: str


class WatchDetails(Struct, frozen=True):
    """The facts that the page of one chain shows in addition to its row.

    :param misses: the newest rereads that differed.
    :param false_answers: of each URL the newest, if it ever returned one.
    :param waiting: how many facts wait, by their kind.
    :param disputed: logs of the highest disputed blocks, the highest block first.
    """

    misses: Sequence[DatedMiss]
    false_answers: Sequence[FalseAnswer]
    waiting: Mapping[str, int]
    disputed: Sequence[DisputedLog] = ()


def watched_chains(database: Database, snapshots: SnapshotSource) -> list[WatchedChain]:
    """Every chain that is configured to be watched, by its id, whether it is read or not.

    :raises Unavailable: the configuration cannot be read.
    """
    terms, now = watch_terms(snapshots), database.clock()
    if not terms:
        return []
    rows = run_read(database.reads, watch_rows)
    in_doubt = any(row.unmatched for row in rows.values())
    disputed = run_read(database.reads, disputed_counts) if in_doubt else {}
    return [
        _watched(terms[chain_id], rows.get(chain_id), disputed.get(chain_id, 0), now)
        for chain_id in sorted(terms)
    ]


def watch_details(database: Database, chain_id: ChainId) -> WatchDetails:
    rows = run_read(database.reads, newest_misses, chain_id, MISSES_SHOWN)
    misses = [
        DatedMiss(
            row.at,
            Missed(
                BlockNumber(row.first),
                BlockNumber(row.last),
                row.missing,
                row.surplus,
                row.source,
                row.reread_source,
            ),
            bool(row.disputed),
        )
        for row in rows
    ]
    false_answers = [
        FalseAnswer(row.at, row.source, row.words) for row in run_read(database.reads, faulty_urls, chain_id)
    ]
    blocks = run_read(database.reads, newest_disputed, chain_id, DISPUTED_SHOWN)
    disputed = [log for block in blocks for log in disputed_logs(block)]
    return WatchDetails(misses, false_answers, run_read(database.reads, waiting_counts, chain_id), disputed)


def _watched(
    terms: WatchTerms, row: Row[*tuple[Any, ...]] | None, disputed: int, now: datetime
) -> WatchedChain:
    configured: dict[str, Any] = {
        "chain_id": terms.chain_id,
        "name": terms.name,
        "from_block": terms.from_block,
        "poll_seconds": terms.poll_seconds,
        "rpc": terms.rpc,
    }
    held = row is not None and row.owner is not None and row.until is not None and row.until > now
    state = watch_state(
        now=now,
        stopped=row is not None and row.stopped is not None,
        held=held,
        read_at=None if row is None else row.read_at,
        head_moved_at=None if row is None else row.head_moved_at,
        poll_seconds=terms.poll_seconds,
    )
    if row is None:
        return WatchedChain(state=state, **configured)
    unchanged = {name: getattr(row, name) for name in _UNCHANGED}
    return WatchedChain(
        state=state,
        read_to=row.live_to,
        calls_a_minute=_calls_a_minute(row, now),
        owner=row.owner if held else None,
        until=row.until if held else None,
        disputed=disputed,
        **configured,
        **unchanged,
    )


_UNCHANGED: Final = (
    "head", "head_at", "head_moved_at", "live_from", "backfilled_to", "reread_to", "reread_at", "proven_to",
    "proven_at", "unmatched", "read_at", "found_at", "source", "fault", "fault_source",
    "fault_at", "differed", "refused", "stopped", "stopped_at", "stopped_by",
)  # fmt: skip


def _calls_a_minute(row: Row[*tuple[Any, ...]], now: datetime) -> int:
    """The calls of the last whole minute; those of the first one so far while there is none."""
    minute = now.replace(second=0, microsecond=0)
    if row.minute == minute:
        return int(row.calls_before or row.calls_now)
    return int(row.calls_now) if row.minute == minute - timedelta(minutes=1) else 0


class SwitchRefused(ValueError):
    """The reading was not stopped or started; the message says why."""


def stop(
    database: Database,
    snapshots: SnapshotSource,
    audit_keys: AuditKeys,
    chain_id: ChainId,
    reason: str,
    *,
    actor: Actor,
) -> None:
    """Stop the reading of a chain. A watcher that reads it writes nothing more from now on.

    What was read stays, and the cursor: after :func:`start` the reading goes on where it was.

    :raises SwitchRefused: no reason is given, the chain is not configured to be watched, or stopped already.
    """
    why = one_line(reason)
    if not why:
        raise SwitchRefused("enter a reason: other operators will see it")
    if chain_id not in watch_terms(snapshots):
        raise SwitchRefused(f"chain {chain_id} is not configured to be watched")
    with writing(database.engine) as connection:
        now = database.clock()
        (row,) = lock_or_insert(connection, ChainWatch, [{"chain_id": chain_id, "epoch": 0}])
        if row.stopped is not None:
            raise SwitchRefused(f"reading of chain {chain_id} is already stopped: {row.stopped}")
        values = stopped(row.epoch, why, now, by=actor.name)
        connection.execute(update(ChainWatch).where(ChainWatch.chain_id == chain_id).values(**values))
        subject = f"reading of chain {chain_id}"
        record(
            connection,
            audit_keys,
            actor,
            "watch.stop",
            subject,
            now=now,
            detail=why,
            changes=[AuditedChange(subject, {"stopped": None}, {"stopped": values["stopped"]})],
        )


def start(database: Database, audit_keys: AuditKeys, chain_id: ChainId, *, actor: Actor) -> None:
    """Let the reading of a stopped chain go on where it was; a running watcher takes it within seconds.

    :raises SwitchRefused: it is not stopped.
    """
    with writing(database.engine) as connection:
        now = database.clock()
        (row,) = lock_or_insert(connection, ChainWatch, [{"chain_id": chain_id, "epoch": 0}])
        if row.stopped is None:
            raise SwitchRefused(f"reading of chain {chain_id} is not stopped")
        connection.execute(
            update(ChainWatch)
            .where(ChainWatch.chain_id == chain_id)
            .values(stopped=None, stopped_at=None, stopped_by=None, epoch=row.epoch + 1)
        )
        subject = f"reading of chain {chain_id}"
        record(
            connection,
            audit_keys,
            actor,
            "watch.start",
            subject,
            now=now,
            detail=f"was stopped: {row.stopped}",
            changes=[AuditedChange(subject, {"stopped": row.stopped}, {"stopped": None})],
        )
