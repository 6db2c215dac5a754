"""The chains that are configured to be watched, and how far each is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Row

from app.db.engine import ask
from app.domain.keys import BlockNumber, ChainId
from app.domain.watching.steps import Missed
from app.domain.watching.terms import WatchTerms
from app.domain.watching.watched import WatchedChain, watch_state
from app.queries.watching import newest_misses, waiting_counts, watch_rows
from app.runtime.gateway import Gateway
from app.services.watching.terms import watch_terms

MISSES_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class DatedMiss:
    """A reread that differed, and when."""

    at: datetime
    missed: Missed


@dataclass(frozen=True, slots=True)
class WatchDetails:
    """What else is kept of a chain: the newest rereads that differed, and how many facts wait for what."""

    misses: Sequence[DatedMiss]
    waiting: Mapping[str, int]


def watched_chains(gateway: Gateway) -> list[WatchedChain]:
    """Every chain that is configured to be watched, by its id, whether or not anybody reads it.

    :raises Unavailable: the configuration cannot be read.
    """
    terms, now = watch_terms(gateway), gateway.clock()
    if not terms:
        return []
    rows = ask(gateway.reads, watch_rows)
    return [_watched(terms[chain_id], rows.get(chain_id), now) for chain_id in sorted(terms)]


def watch_details(gateway: Gateway, chain_id: ChainId) -> WatchDetails:
    """What the page of one chain shows beside its row."""
    rows = ask(gateway.reads, newest_misses, chain_id, MISSES_SHOWN)
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
        )
        for row in rows
    ]
    return WatchDetails(misses, ask(gateway.reads, waiting_counts, chain_id))


def _watched(terms: WatchTerms, row: Row[*tuple[Any, ...]] | None, now: datetime) -> WatchedChain:
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
    kept = {name: getattr(row, name) for name in _KEPT}
    return WatchedChain(
        state=state,
        read_to=row.live_to,
        calls_a_minute=_calls_a_minute(row, now),
        owner=row.owner if held else None,
        until=row.until if held else None,
        **configured,
        **kept,
    )


_KEPT: Final = (
    "head", "head_at", "head_moved_at", "live_from", "backfilled_to", "reread_to", "reread_at", "proven_to",
    "proven_at", "read_at", "found_at", "source", "fault", "fault_source", "fault_at", "differed", "refused",
    "stopped", "stopped_at", "stopped_by",
)  # fmt: skip
"""Columns that are told as they are."""


def _calls_a_minute(row: Row[*tuple[Any, ...]], now: datetime) -> int:
    """The calls of the last whole minute; those of the first one so far while there is none."""
    minute = now.replace(second=0, microsecond=0)
    if row.minute == minute:
        return int(row.calls_before or row.calls_now)
    return int(row.calls_now) if row.minute == minute - timedelta(minutes=1) else 0
