"""Queries of higher features about the chains of transfers. ``app/features.py`` hands them in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

from app.db.engine import HandedIn
from app.transfers.rules.certainty import ChainProof
from app.transfers.rules.progress import ChainDepth, RouteTimes
from app.values.identifiers import BlockNumber, ChainId

CHAIN_DEPTHS: Final = HandedIn[[], Mapping[ChainId, ChainDepth]]("chain_depths")
"""How far each configured chain was read."""

CHAIN_PROOFS: Final = HandedIn[[Collection[ChainId], Collection[BlockNumber]], Mapping[ChainId, ChainProof]](
    "chain_proofs"
)
"""How far each of these chains was read and proven, and which of these blocks are not."""

ROUTE_TIMES: Final = HandedIn[[ChainId, ChainId, datetime], RouteTimes]("route_times")
"""How long transfers from a chain to another one took in the days before a time."""
