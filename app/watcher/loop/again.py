"""Tries blocks again whose receipts did not match their headers: in rounds, as a chain may have thousands."""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field

from app.db.database import Database
from app.values.identifiers import BlockNumber
from app.watcher.loop.poll import Outcome
from app.watcher.loop.proof import BLOCKS_AT_ONCE, prove_again
from app.watcher.loop.view import View
from app.watcher.services.readings import Reported
from app.watcher.services.unmatched import unmatched_to_try

EVERY: Final = 3600.0
"""Seconds from the end of one round to the next."""

MOST_FAILED: Final = 100
"""A round ends when so many blocks did not match again. It goes on while they do, as with another URL."""


class Again(Struct):
    """The rounds of one reader. The first is at its start: the URLs may be others since.

    :param at: when the next round begins, in seconds of the monotonic clock.
    :param failed: the blocks of this round that did not match again.
    """

    at: float = float("-inf")
    failed: set[BlockNumber] = field(default_factory=set)

    def proved(self, database: Database, view: View, reported: Reported) -> Outcome | None:
        """Try the next blocks of the round; None where none is due. Errors as of ``prove``."""
        now = view.monotonic()
        if now < self.at:
            return None
        blocks = unmatched_to_try(database, view.terms.chain_id, self.failed, BLOCKS_AT_ONCE)
        if not blocks or len(self.failed) >= MOST_FAILED:
            self.at, self.failed = now + EVERY, set()
            return None
        outcome = prove_again(view, blocks, reported)
        self.failed.update(blocks if outcome.step is None else outcome.step.unmatched)
        return outcome
