"""Gives the facts of logs of watched chains the ids that they were reported by first.

The watcher and the reporters may read a chain from nodes that count its logs differently. A fact under
another index is a repetition. So it is validated, and logged, under its first id (docs/ingest.md#index).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from app.feed.lines import ReadLine
from app.feed.queries.log import chains_read_by, events_of_logs
from app.feed.services.posts import Post
from app.network.queries import load_configured_facts
from app.transfers.rules.certainty import WATCHER
from app.transfers.rules.events.events import Event, TransferEvent
from app.transfers.rules.events.numbering import LogName, as_reported_before, log_name
from app.values.identifiers import BlockNumber, ChainId

Names = Mapping[Event, Event]
"""Events of a post, each under the id that its fact was reported by before."""


def names_before(connection: Connection, posts: Sequence[Post]) -> dict[Post, Names]:
    """By post those of its events that were reported under another id.

    Of several that say the same there are as many as the post with the most of them has. Each post counts
    after those before it. Only the watcher knows how often a transaction says the same. So this is decided
    where it reads the block, or has read it while the chain was watched.
    """
    of_logs = {post: {line.event: name for line in post.report if (name := _name(line))} for post in posts}
    chain_ids = {name.chain_id for names in of_logs.values() for name in names.values()}
    if not chain_ids:
        return {}
    watched = load_configured_facts(connection).watched
    read = chains_read_by(connection, WATCHER, chain_ids)
    names = {
        event: name
        for post, of_post in of_logs.items()
        for event, name in of_post.items()
        if name.chain_id in read or _is_watched(post, event, name, watched)
    }
    if not names:
        return {}
    transfer_ids = {event.transfer_id for event in names if isinstance(event, TransferEvent)}
    of_chains = {name.tx for event, name in names.items() if not isinstance(event, TransferEvent)}
    logged = events_of_logs(connection, transfer_ids, of_chains)
    known = {name.tx for event, by in logged if by == WATCHER and (name := log_name(event))}
    reported = [event for event, _ in logged]
    found: dict[Post, Names] = {}
    for post, of_post in of_logs.items():
        events = [
            event
            for event, name in of_post.items()
            if name.tx in known or _is_watched(post, event, name, watched)
        ]
        again = as_reported_before(events, reported)
        found[post] = {event: first for event, first in zip(events, again, strict=True) if event != first}
        reported += again
    return found


def _name(line: ReadLine) -> LogName | None:
    """The name of the log that a line is about. The lines of an exported log have the right ids."""
    return None if line.is_exported else log_name(line.event)


def _is_watched(post: Post, event: Event, name: LogName, watched: Mapping[ChainId, BlockNumber]) -> bool:
    if post.sender.reporter == WATCHER:
        return True
    first, block = watched.get(name.chain_id), getattr(event, "block", None)
    return first is not None and (block is None or block >= first)
