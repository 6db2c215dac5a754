"""Recognising what was pruned: its events are gone, digests of their ids and contents are kept."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import Enum, auto
from hashlib import blake2b

from app.domain.transfer.events import Event, TransferEvent


def id_digest(event_id: str) -> bytes:
    """What is kept of a pruned event's id: 16 bytes, too many for two ids to meet by chance."""
    return blake2b(event_id.encode(), digest_size=16).digest()


def content_digest(event_type: str, body: str) -> bytes:
    """What is kept of its content: enough to tell another content of the same id.

    :param body: the canonical text of the event.
    """
    return blake2b(f"{event_type} {body}".encode(), digest_size=8).digest()


class PrunedMatch(Enum):
    """What of an event was pruned."""

    NOTHING = auto()
    SAME_EVENT = auto()
    OTHER_CONTENT = auto()
    """An event with this id and another content."""
    TRANSFER = auto()
    """The transfer that the event is about, but not the event."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """Of some events and their transfers those that were pruned."""

    contents: Mapping[bytes, bytes] = field(default_factory=dict)
    """Digest of the id to that of the content."""
    transfers: Set[bytes] = frozenset()

    def has_event(self, event_id: str) -> bool:
        """Whether an event with this id was accepted and then pruned."""
        return bool(self.contents) and id_digest(event_id) in self.contents

    def match(self, event: Event, body: str) -> PrunedMatch:
        """What of the event was pruned; ``body`` is its canonical text."""
        kept = self.contents.get(id_digest(event.id)) if self.contents else None
        if kept is not None:
            same = kept == content_digest(event.type.value, body)
            return PrunedMatch.SAME_EVENT if same else PrunedMatch.OTHER_CONTENT
        if isinstance(event, TransferEvent) and event.transfer_id in self.transfers:
            return PrunedMatch.TRANSFER
        return PrunedMatch.NOTHING
