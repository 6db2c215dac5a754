"""Where a fact stands: the log's place on its chain, from which the event's id is made."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from app.domain.keys import BlockNumber, ChainId
from app.domain.times import parse_rfc3339, rfc3339
from app.domain.transfer.event_types import EventType
from app.domain.watching.blocks import Log


class Place(NamedTuple):
    """A log's place. ``id`` names its first fact (docs/ingest.md#ids), ``at`` is the time of its block."""

    id: str
    at: datetime
    block: BlockNumber
    block_hash: str
    tx_hash: str
    log_index: int

    def further(self, event_type: EventType) -> Place:
        """The place of a further fact of the same log, which needs an id of its own."""
        return self._replace(id=f"{self.id}:{event_type.value}")

    def facts(self) -> dict[str, Any]:
        """The place as JSON values."""
        return {**self._asdict(), "at": rfc3339(self.at)}


def log_id(chain_id: ChainId, log: Log) -> str:
    """The id of the first fact of a log."""
    return f"{chain_id}:{log.block_hash}:{log.tx_hash}:{log.index}"


def log_of(event_id: str) -> str:
    """The id of the first fact of the log that this is a fact of."""
    return ":".join(event_id.split(":")[:4])


def place_of(chain_id: ChainId, log: Log, at: datetime) -> Place:
    """The place of a log whose block has the time ``at``."""
    return Place(log_id(chain_id, log), at, log.block, log.block_hash, log.tx_hash, log.index)


def place_from(facts: Mapping[str, Any]) -> Place:
    """The place that these facts were made of."""
    return Place(
        id=facts["id"],
        at=parse_rfc3339(facts["at"]),
        block=BlockNumber(facts["block"]),
        block_hash=facts["block_hash"],
        tx_hash=facts["tx_hash"],
        log_index=facts["log_index"],
    )
