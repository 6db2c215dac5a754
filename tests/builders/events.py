"""Events as reporters send them, at times before or after one moment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.values.crypto import keccak256

Event = dict[str, Any]
Offset = float | timedelta
"""How long after the moment an event happened, in seconds or as a difference; negative for before."""


@dataclass(frozen=True)
class EventBuilder:
    """Builds the events of one world.

    :param now: the moment.
    :param transfer: the fields of a usual ``transfer.sent``, without its id.
    :param payout: the fields of a usual ``transfer.released``, without its id.
    """

    now: datetime
    transfer: Mapping[str, Any]
    payout: Mapping[str, Any]

    def event(
        self, event_type: str, /, event_id: str | None = None, at: Offset | str = 0, **fields: Any
    ) -> Event:
        """An event of any type. Its id is made from its content where none is given.

        :param at: an offset, or the time itself as text.
        """
        if not isinstance(at, str):
            at = (self.now + (at if isinstance(at, timedelta) else timedelta(seconds=at))).isoformat()
        body = {"type": event_type, "at": at, **fields}
        return {"id": event_id or keccak256(json.dumps(body, sort_keys=True).encode()).hex()[:16], **body}

    def about(self, transfer_id: str, event_type: str, /, at: Offset, **fields: Any) -> Event:
        """An event about a transfer."""
        return self.event(event_type, at=at, transfer_id=transfer_id, **fields)

    def sent(self, transfer_id: str, /, at: Offset, **changes: Any) -> Event:
        """``transfer.sent``: the usual transfer with these changes."""
        return self.event("transfer.sent", at=at, **{"transfer_id": transfer_id, **self.transfer, **changes})

    def released(self, transfer_id: str, /, at: Offset, **changes: Any) -> Event:
        """``transfer.released``: the usual payout with these changes."""
        fields = {"transfer_id": transfer_id, **self.payout, **changes}
        return self.event("transfer.released", at=at, **fields)
