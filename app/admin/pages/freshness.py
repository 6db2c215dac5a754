"""How recently each chain and the feed reported anything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.admin.pages.components import ChainName, chain_name
from app.admin.pages.labels import EVENT_WORDS
from app.domain.freshness import age_in_words
from app.domain.transfer.events import EventType
from app.models.engine import reading
from app.queries.transfers.freshness import chain_progress, last_event
from app.runtime.gateway import Gateway
from app.sandbox.loader import is_sandbox

QUIET_AFTER: Final = timedelta(minutes=15)
"""A chain in service that has reported nothing for longer than this is marked as quiet."""


@dataclass(frozen=True, slots=True)
class ChainFreshness:
    """How far a chain has been read. ``newest_at`` is None while nothing was ever reported of it.

    ``quiet``: it is in service, but reported nothing for longer than ``QUIET_AFTER``.
    """

    chain: ChainName
    disabled: bool
    highest_block: int | None
    newest_at: datetime | None
    age: str
    quiet: bool


@dataclass(frozen=True, slots=True)
class FeedFreshness:
    """The newest event of all that was accepted: None while there is none."""

    received_at: datetime | None
    age: str
    label: str
    reporter: str


@dataclass(frozen=True, slots=True)
class Freshness:
    """The chains, the quiet ones first, and the feed; ``sandbox``: none of the data are real."""

    chains: tuple[ChainFreshness, ...]
    feed: FeedFreshness
    sandbox: bool


def freshness(gateway: Gateway) -> Freshness:
    """How old the newest event of each chain and of the whole feed is.

    :raises Unavailable: the configuration cannot be read.
    """
    terms, now = gateway.snapshots.current().terms, gateway.clock()
    with reading(gateway.reads) as connection:
        progress = {row.chain_id: row for row in chain_progress(connection)}
        newest = last_event(connection)
        sandbox = is_sandbox(connection)
    lines = []
    for chain_id in sorted(terms.chain_infos.keys() | progress.keys()):
        row, configured = progress.get(chain_id), terms.chains.get(chain_id)
        chain = chain_name(terms.chain_infos, chain_id)
        in_service = configured is not None and not configured.disabled
        lines.append(
            ChainFreshness(
                chain=chain,
                disabled=configured is not None and configured.disabled,
                highest_block=row.highest_block if row else None,
                newest_at=row.newest_at if row else None,
                age=age_in_words(now - row.newest_at) if row else "never",
                quiet=in_service and (row is None or now - row.newest_at > QUIET_AFTER),
            )
        )
    lines.sort(key=lambda line: not line.quiet)
    if newest is None:
        feed = FeedFreshness(None, "never", "", "")
    else:
        age, label = age_in_words(now - newest.received_at), EVENT_WORDS[EventType(newest.type)]
        feed = FeedFreshness(newest.received_at, age, label, newest.reporter)
    return Freshness(tuple(lines), feed, sandbox)


def shows_sandbox(gateway: Gateway) -> bool:
    """Whether the data are the sandbox's: for the banner of every page. One index read."""
    with reading(gateway.reads) as connection:
        return is_sandbox(connection)
