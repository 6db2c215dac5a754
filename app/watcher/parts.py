"""Hands the watcher's readings to other features."""

from __future__ import annotations

from app.db.database import Database
from app.feed.services.load import IN_DOUBT
from app.transfers.handed_in import CHAIN_DEPTHS, CHAIN_PROOFS
from app.watcher.queries import chain_depths, chain_proofs
from app.watcher.services.doubts import doubted_blocks


def add(database: Database) -> None:
    """Let features below know how far chains were read, and which blocks are proven or in doubt."""
    for engine in database.engines:
        CHAIN_DEPTHS.hand_in(engine, chain_depths)
        CHAIN_PROOFS.hand_in(engine, chain_proofs)
        IN_DOUBT.hand_in(engine, doubted_blocks)
