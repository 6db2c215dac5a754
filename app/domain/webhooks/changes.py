"""What is told to those who subscribed (docs/webhooks.md#events): changes of statuses, and events as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from app.domain.following.change import StatusChange, StatusThen, account_keys, change_between, event_of
from app.domain.keys import TransferId
from app.domain.transfer.lifecycle import StatusAnswer
from app.domain.transfer.state import TransferState

TEST_EVENT: Final = "webhook.test"


def change_body(change: StatusChange, at: datetime, seq: int) -> str:
    """The JSON text of a change of a status. The rest is as in ``StatusChange.event``."""
    return _text(change.event(at, seq))


def event_body(type_: str, at: datetime, data: Mapping[str, Any]) -> str:
    """The JSON text of any event, in ASCII."""
    return _text(event_of(type_, at, data))


def status_changes(
    old: Mapping[TransferId, TransferState], new: Mapping[TransferId, TransferState]
) -> Iterator[StatusChange]:
    """The transfers of ``new`` whose status is another than in ``old``; unknown where it is not there."""
    for transfer_id, after in new.items():
        before = old.get(transfer_id)
        # Most folds change no status, and then nothing more is to be made.
        if before is not None and before.status is after.status:
            continue
        change = change_between(transfer_id, None if before is None else _seen(before), _seen(after))
        if change is not None:
            yield change


def _seen(state: TransferState) -> StatusThen:
    answer = StatusAnswer(state.status, state.refund_reason, state.status_since)
    return StatusThen(answer, account_keys(state.sender, state.receiver), is_sent=state.sent_at is not None)


def _text(event: Mapping[str, Any]) -> str:
    return json.dumps(event, separators=(",", ":"))
