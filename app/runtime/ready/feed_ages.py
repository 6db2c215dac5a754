"""Whether every chain's feed is as new as its operator wants it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Engine

from app.db.engine import ask
from app.domain.estimate.network_terms import NetworkTerms
from app.domain.freshness import span_in_words
from app.domain.keys import ChainId
from app.queries.feed.chains import load_progress

OTHERS: Final = 0
"""Stands for the chains that have no limit of their own; no chain has this id."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StaleFeed:
    """A chain of which nothing new was told for too long.

    :param newest_at: the time of its newest accepted event; None where there was never one.
    :param max_age_seconds: its limit.
    """

    chain_id: ChainId
    newest_at: datetime | None
    max_age_seconds: int

    def words(self, now: datetime) -> str:
        """What is wrong, for the operator's log."""
        if self.newest_at is None:
            return f"chain {self.chain_id} has told nothing yet"
        age = span_in_words(now - self.newest_at)
        return f"chain {self.chain_id} told its newest {age} ago, and may be {self.max_age_seconds} s behind"


class FeedAges:
    """The limits, and which feeds one process found to be over them when it looked last."""

    def __init__(self, reads: Engine, limits: Iterable[tuple[int, int]], *, fails: bool) -> None:
        """
        :param reads: of the primary, for single-statement reads.
        :param limits: seconds by chain, 0 for none; those of ``OTHERS`` for all that are not named.
        :param fails: whether a gateway with a stale feed is to take no requests.
        """
        self.fails = fails
        self._reads = reads
        self._limits = dict(limits)
        self._told: frozenset[ChainId] = frozenset()

    def stale(self, terms: NetworkTerms, now: datetime) -> Sequence[StaleFeed]:
        """The chains in service whose feed is too old, by their ids. What changed is said in the log.

        A chain that operators stopped is not expected to tell anything.

        :raises SQLAlchemyError: the database cannot be asked.
        """
        chains = [chain_id for chain_id, chain in terms.chains.items() if not chain.disabled]
        limits = {chain_id: limit for chain_id in chains if (limit := self._limit(chain_id))}
        if not limits:
            return []
        read = ask(self._reads, load_progress, limits.keys())
        found = []
        for chain_id, limit in sorted(limits.items()):
            newest_at = read[chain_id].newest_at if chain_id in read else None
            if newest_at is None or (now - newest_at).total_seconds() > limit:
                found.append(StaleFeed(chain_id, newest_at, limit))
        self._tell(found, now)
        return found

    def _limit(self, chain_id: ChainId) -> int:
        return self._limits.get(chain_id, self._limits.get(OTHERS, 0))

    def _tell(self, found: Sequence[StaleFeed], now: datetime) -> None:
        stale = frozenset(feed.chain_id for feed in found)
        for feed in found:
            if feed.chain_id not in self._told:
                _log.warning("feed: %s", feed.words(now))
        for chain_id in sorted(self._told - stale):
            _log.info("feed: chain %d tells new events again", chain_id)
        self._told = stale


def feed_complaint(stale: Sequence[StaleFeed], now: datetime) -> str | None:
    """What to say of them in one line; None where there are none."""
    if not stale:
        return None
    more = f" ({len(stale) - 1} more like it)" if len(stale) > 1 else ""
    return f"feed: {stale[0].words(now)}{more}"
