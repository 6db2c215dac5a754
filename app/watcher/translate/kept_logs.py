"""A log as JSON values, for one that is kept until the configuration knows what it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.domain.watching.blocks import Log
from app.watcher.translate.places import Place


def facts_of_log(log: Log) -> dict[str, Any]:
    """What the log says, without its place."""
    return {
        "address": log.address.hex(),
        "topics": [topic.hex() for topic in log.topics],
        "data": log.data.hex(),
    }


def log_from(facts: Mapping[str, Any], place: Place) -> Log:
    """The log that these facts were made of."""
    return Log(
        block=place.block,
        block_hash=place.block_hash,
        tx_hash=place.tx_hash,
        index=place.log_index,
        address=bytes.fromhex(facts["address"]),
        topics=tuple(map(bytes.fromhex, facts["topics"])),
        data=bytes.fromhex(facts["data"]),
    )
