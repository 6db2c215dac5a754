"""What the watcher has reported of some blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.domain.keys import BlockNumber, ChainId
from app.models.engine import reading_consistently
from app.queries.watching.reported import ReportedEvent, reported_events
from app.runtime.gateway import Gateway
from app.services.watching.advance import REPORTER

__all__ = ["Reported", "ReportedEvent", "reported"]

Reported = Callable[[BlockNumber, BlockNumber | None], Sequence[ReportedEvent]]
"""What was reported of a chain's blocks from one to another, both included; None: to the last."""


def reported(
    gateway: Gateway, chain_id: ChainId, first: BlockNumber, last: BlockNumber | None
) -> list[ReportedEvent]:
    """What the watcher reported of these blocks. It stays so as long as the caller has the chain's lease."""
    with reading_consistently(gateway.engine) as connection:
        return reported_events(connection, chain_id, first, last, REPORTER)
