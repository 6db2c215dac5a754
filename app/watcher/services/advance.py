"""One step of reading a chain: its events, and how far the reading is, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import asdict
from sqlalchemy import Connection, Row, delete, insert, tuple_

from app.db.database import Database
from app.db.engine import writing
from app.db.upserts import upsert
from app.feed.lines import TOO_FAR_AHEAD, RefusedLine
from app.feed.services.ingest import IngestResult, Intake, ingest_events_within
from app.transfers.queries.logged import newest_seq
from app.transfers.rules.certainty import WATCHER
from app.transfers.rules.events.event_types import ChainHead, ChainReorged
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.models import WatchHeader, WatchMiss, WatchWaiting
from app.watcher.queries import Reorgs, newest_misses, reread_spans, stored_hash
from app.watcher.rules.blocks import Header
from app.watcher.rules.steps import Missed, SpanState, Step, Waiting, WaitingKey, reaches
from app.watcher.services.contradicting_reports import store_contradicted
from app.watcher.services.doubts import store_doubts
from app.watcher.services.lease import Lease, write_under
from app.watcher.services.spans import REORGS_TO, doubt, reorgs_of_others, store_spans

STORED_MISSES: Final = 200  # of each chain: the count goes on, but only the newest are needed

REREAD: Final = (SpanState.REREAD, SpanState.PROVEN)
PROVEN: Final = (SpanState.PROVEN,)

_CHUNK: Final = 500


class StepRefused(Exception):
    """The feed refused an event that everything after it depends on. Nothing of the step was written.

    ``passing``: the same step may be accepted later.
    """

    def __init__(self, reason: str, *, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


class Advanced(IngestResult):
    """The result of writing a step's events.

    What lies in the log between one step's end and the next one's start was written by others.

    :param log_start: the newest position in the log before a step of the backfill; of others 0.
    :param log_end: the newest position after it, likewise.
    :param by_turns: the database lets writers in in the order of their requests.
    :param taken_back_from: others removed what was read from this block on. It is not known any more.
    """

    log_start: int = 0
    log_end: int = 0
    by_turns: bool = False
    taken_back_from: BlockNumber | None = None


def advance(database: Database, intake: Intake, lease: Lease, step: Step) -> Advanced:
    """Write what a step of reading says, and how far the reading is after it. Both or neither.

    Of the events that the feed refuses, two kinds undo the step: a reorganisation deeper than is accepted,
    and a time in the future. The others are refused for good, such as a fact about a transfer that was
    pruned, or one that a reporter reported differently, which is recorded as an anomaly. They are counted,
    and the reading goes on.

    The next steps read and report again what others removed since the last step (``services.spans``).

    :raises LeaseLost: another watcher reads the chain now; nothing was written.
    :raises StepRefused: nothing was written.
    """
    with writing(database.feed) as connection:
        now = database.clock()
        row = write_under(connection, lease, read_at=now)
        log_start = _log_end(connection, step)
        result = ingest_events_within(connection, database, intake, step.events, WATCHER)
        _check(step, result.refused)
        reorgs = reorgs_of_others(connection, row, intake.max_reorg_blocks)
        missed = _missed(step, result, reorgs)
        values = _cursor(connection, row, step) | _seen(row, step, result, len(missed), now)
        _store(connection, lease.chain_id, step, missed, now)
        if reorgs.from_block is not None:
            values |= doubt(connection, row, values, reorgs.from_block, intake.max_reorg_blocks)
        values |= store_doubts(connection, row, step, reorgs.from_block)
        values |= _bounds(connection, row, values, step, reorgs, now)
        values["extra"] = {**(row.extra if step.extra is None else step.extra), REORGS_TO: reorgs.newest}
        write_under(connection, lease, **values)
        return Advanced(
            result.refused,
            result.outcomes,
            log_start=log_start,
            log_end=_log_end(connection, step),
            by_turns=connection.dialect.name == "postgresql",
            taken_back_from=reorgs.from_block,
        )


def _store(
    connection: Connection, chain_id: ChainId, step: Step, missed: Sequence[Missed], now: datetime
) -> None:
    _store_headers(connection, chain_id, step)
    _store_waiting(connection, chain_id, step)
    _store_misses(connection, chain_id, missed, step.at)
    store_contradicted(connection, chain_id, step, now)
    store_spans(connection, chain_id, step.spans, step.forget_from)


def _missed(step: Step, result: IngestResult, reorgs: Reorgs) -> Sequence[Missed]:
    """What a node has missed: neither what was known already, nor what others took back."""
    if step.missed_if_new and (not result.accepted or reorgs.from_block is not None):
        return ()
    return step.missed


def _log_end(connection: Connection, step: Step) -> int:
    """The log's newest position. Only the backfill gives way to others, so only its steps read it."""
    return 0 if step.backfilled_to is None else newest_seq(connection)


def _check(step: Step, refused: Iterable[RefusedLine]) -> None:
    for line in refused:
        event = step.events[line.line - 1]
        if line.reason == TOO_FAR_AHEAD:
            raise StepRefused(f"{event.type} {event.id}: {line.reason}", passing=True)
        if isinstance(event, ChainReorged):
            raise StepRefused(f"a reorganisation from block {event.from_block}: {line.reason}", passing=False)


def _cursor(connection: Connection, row: Row[*tuple[Any, ...]], step: Step) -> dict[str, Any]:
    values: dict[str, Any] = {
        name: getattr(row, name)
        for name in ("live_from", "live_to", "live_to_hash", "backfill_from", "backfilled_to")
    }
    if step.forget_from is not None:
        values |= _stepped_back(connection, row, step, step.forget_from)
    for name in ("live_from", "backfill_from", "backfilled_to"):
        if (given := getattr(step, name)) is not None:
            values[name] = given
    if step.live_to is not None:
        values |= {"live_to": step.live_to.number, "live_to_hash": step.live_to.hash}
    return values


def _stepped_back(
    connection: Connection, row: Row[*tuple[Any, ...]], step: Step, forget_from: BlockNumber
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    below = BlockNumber(forget_from - 1)
    if row.live_to is not None and row.live_to >= forget_from and step.live_to is None:
        block_hash = stored_hash(connection, row.chain_id, below)
        if block_hash is None:
            raise ValueError(f"block {below} is not stored: the step must say where reading continues")
        values |= {"live_to": below, "live_to_hash": block_hash}
    if row.live_from is not None and row.live_from > forget_from:
        values["live_from"] = forget_from
    if row.backfilled_to is not None and row.backfilled_to >= forget_from:
        values["backfilled_to"] = below
    return values


def _seen(
    row: Row[*tuple[Any, ...]], step: Step, result: IngestResult, missed: int, now: datetime
) -> dict[str, Any]:
    values: dict[str, Any] = {
        "refused": row.refused + len(result.refused),
        "differed": row.differed + missed,
        **calls(row, step.calls, now.replace(second=0, microsecond=0)),
    }
    if step.source:
        values["source"] = step.source
    heads = sum(isinstance(event, ChainHead) for event in step.events)
    if result.accepted > heads:
        values["found_at"] = now
    if (head := step.head) is not None:
        values |= {"head": head.number, "head_hash": head.hash, "head_at": head.at}
        if head.hash != row.head_hash:
            values["head_moved_at"] = now
    if step.final is not None:
        values["final"] = step.final
    return values


def calls(row: Row[*tuple[Any, ...]], made: int, minute: datetime) -> dict[str, Any]:
    """The counts of calls of this minute and the one before, after some more calls."""
    if row.minute == minute:
        return {"calls_now": row.calls_now + made}
    follows = row.minute is not None and minute - row.minute == timedelta(minutes=1)
    return {"minute": minute, "calls_now": made, "calls_before": row.calls_now if follows else 0}


def _store_headers(connection: Connection, chain_id: ChainId, step: Step) -> None:
    gone = []
    if step.forget_from is not None:
        gone.append(WatchHeader.number >= step.forget_from)
    if step.forget_headers_below is not None:
        gone.append(WatchHeader.number < step.forget_headers_below)
    for condition in gone:
        connection.execute(delete(WatchHeader).where(WatchHeader.chain_id == chain_id, condition))
    upsert(connection, WatchHeader, [_header_row(chain_id, header) for header in step.headers])


def _header_row(chain_id: ChainId, header: Header) -> dict[str, Any]:
    return {
        "chain_id": chain_id,
        "number": header.number,
        "hash": header.hash,
        "parent_hash": header.parent_hash,
        "at": header.at,
        "bloom": header.bloom,
        "receipts_root": header.receipts_root,
    }


def _store_waiting(connection: Connection, chain_id: ChainId, step: Step) -> None:
    of_chain = WatchWaiting.chain_id == chain_id
    if step.forget_from is not None:
        connection.execute(delete(WatchWaiting).where(of_chain, WatchWaiting.block >= step.forget_from))
    for start in range(0, len(step.done), _CHUNK):
        connection.execute(delete(WatchWaiting).where(of_chain, _named(step.done[start : start + _CHUNK])))
    upsert(connection, WatchWaiting, [_waiting_row(chain_id, waiting) for waiting in step.waiting])


def _named(keys: Sequence[WaitingKey]) -> Any:
    named = [(key.kind.value, key.key) for key in keys]
    return tuple_(WatchWaiting.kind, WatchWaiting.key).in_(named)


def _waiting_row(chain_id: ChainId, waiting: Waiting) -> dict[str, Any]:
    unlike = {"kind": waiting.kind.value, "facts": dict(waiting.facts)}
    return {**asdict(waiting), **unlike, "chain_id": chain_id}


def _store_misses(connection: Connection, chain_id: ChainId, missed: Sequence[Missed], at: datetime) -> None:
    if not missed:
        return
    rows = [{**asdict(each), "chain_id": chain_id, "at": at} for each in missed]
    connection.execute(insert(WatchMiss), rows)
    if len(newest := newest_misses(connection, chain_id, STORED_MISSES + 1)) > STORED_MISSES:
        oldest = newest[STORED_MISSES - 1].id
        connection.execute(delete(WatchMiss).where(WatchMiss.chain_id == chain_id, WatchMiss.id < oldest))


def _bounds(
    connection: Connection,
    row: Row[*tuple[Any, ...]],
    cursor: dict[str, Any],
    step: Step,
    reorgs: Reorgs,
    now: datetime,
) -> dict[str, Any]:
    """How far the chain is reread and proven without a gap, where a span has changed.

    :param cursor: the columns that change.
    """
    if not step.spans and step.forget_from is None and reorgs.from_block is None:
        return {}
    starts = [block for block in (cursor["backfill_from"], cursor["live_from"]) if block is not None]
    if not starts:
        return {}
    start = min(starts)
    spans = reread_spans(connection, row.chain_id, start)
    values: dict[str, Any] = {}
    for name, states in (("reread", REREAD), ("proven", PROVEN)):
        bound = reaches(spans, start, states)
        values[f"{name}_to"] = bound
        if bound != getattr(row, f"{name}_to"):
            values[f"{name}_at"] = now
    return values
