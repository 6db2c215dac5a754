"""The parameters of the operations that wait."""

from __future__ import annotations

from typing import Final

from app.http.schemas import (
    TRANSFER_ID_PATTERN,
    BoundedText,
    Question,
    TransferIdHex,
    Uint,
    WatchedAccount,
    describe,
)
from app.values.wire_values import WATCHED_ACCOUNT
from app.waiting.services import LONGEST_SECONDS

_ID_EXAMPLE: Final = "0x77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6"
_LAST_ID_LENGTH: Final = 64


class WaitQuery(Question):
    transfer_id = TransferIdHex(
        required=True,
        metadata=describe(
            "The transfer's id: 64 hex digits, with or without 0x.",
            _ID_EXAMPLE,
            pattern=TRANSFER_ID_PATTERN,
        ),
    )
    after_status = Uint(
        32,
        metadata=describe(
            "The status that you know; 0 also waits for an unknown transfer. Omitted, the answer comes at "
            "once."
        ),
    )
    timeout = Uint(
        32,
        metadata=describe(f"Seconds to wait at most. Omitted or larger, {LONGEST_SECONDS}."),
    )


class EventsQuery(Question):
    """Parameters of a stream of events: a transfer or an account."""

    transfer_id = TransferIdHex(
        metadata=describe(
            "The transfer's id: 64 hex digits, with or without 0x.", _ID_EXAMPLE, pattern=TRANSFER_ID_PATTERN
        )
    )
    account = WatchedAccount(
        metadata=describe(
            "A sender or receiver, in place of a transfer.",
            pattern=f"^({WATCHED_ACCOUNT})$",
        )
    )
    last_event_id = BoundedText(
        _LAST_ID_LENGTH,
        metadata=describe("For clients that cannot send the header Last-Event-ID."),
    )
