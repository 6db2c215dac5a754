"""Removes heads of chains from the log on which no answer depends any more.

How far a chain was read follows from its highest canonical head and its last reorganisation. An earlier,
lower head adds nothing to a later, higher one in any reorganisation. Heads that a reorganisation may still
reach are retained all the same, so that an operator may retract the newest
(docs/decisions/0009-pruning.md#heads).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, bindparam, delete

from app.credentials.ingest_token import FROM_FILES
from app.feed.queries.chains import OUT_OF_REACH, HeadEntry, OutOfReach, load_progress, lowest_head
from app.transfers import models as log
from app.transfers.events import ChainHead, Event
from app.transfers.subjects import EventKey
from app.transfers.validation import LogEntry
from app.values.identifiers import ChainId

AT_ONCE: Final = 1_000
"""The most heads of a chain that one batch drops, so that those of an earlier release go little by little."""

_GONE: Final = OUT_OF_REACH.limit(bindparam("most")).subquery()
_DROP: Final = delete(log.Event).where(log.Event.seq.in_(_GONE.select()))


def drop_heads(connection: Connection, accepted: Iterable[LogEntry], reporter: str, depth: int) -> None:
    """Drop the heads of a reporter that its newly accepted ones put out of reach of reorganisations.

    :param accepted: entries that are in the log already, and none that is ahead of the clock.
    :param depth: how many blocks a reorganisation may reach back.
    """
    if reporter == FROM_FILES:
        # An exported log has the heads of all reporters. Wrong ones, which are retracted further on, would
        # push out the right ones. So all stay until they are pruned.
        return
    highest: dict[ChainId, HeadEntry] = {}
    for entry in accepted:
        head = entry.event
        if isinstance(head, ChainHead) and head.block is not None:
            this = HeadEntry(head.block, entry.seq, head.at)
            highest[head.chain_id] = max(this, highest.get(head.chain_id, this))
    for chain_id, newest in sorted(highest.items()):
        drop(connection, OutOfReach(reporter, chain_id, newest, depth), AT_ONCE)


def drop(connection: Connection, these: OutOfReach, most: int) -> int:
    """Remove the lowest of these heads from the log. Returns how many. The caller is the only writer."""
    return connection.execute(_DROP, these.bounds | {"most": most}).rowcount


def dropped_before(
    connection: Connection, reported: Iterable[Event], reporter: str, depth: int
) -> frozenset[EventKey]:
    """The heads missing in the log that its reporter has probably reported before.

    They are below all that the log has of the chain, out of reach of reorganisations.
    """
    if reporter == FROM_FILES:  # what had left the log before is not in the file
        return frozenset()
    heads = [each for each in reported if isinstance(each, ChainHead) and each.block is not None]
    progress = load_progress(connection, {head.chain_id for head in heads}) if heads else {}
    low: dict[ChainId, list[ChainHead]] = {}
    for head in heads:
        known = progress.get(head.chain_id)
        if known is None or known.highest_block is None or head.block is None:
            continue
        if head.block < known.highest_block - depth and head.at <= known.newest_at:
            low.setdefault(head.chain_id, []).append(head)
    found: set[EventKey] = set()
    for chain_id, of_chain in low.items():
        lowest = lowest_head(connection, reporter, chain_id)
        if lowest is not None:
            found |= {head.key for head in of_chain if head.block is not None and head.block < lowest}
    return frozenset(found)
