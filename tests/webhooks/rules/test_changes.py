"""The message of a changed status."""

import json
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from app.transfers.rules.projected import TransferState
from app.transfers.rules.published_changes import StatusChange, StatusThen
from app.values.codes import TransferHistoryStatus as Status
from app.values.codes import XferStatus
from app.values.identifiers import TransferId
from app.webhooks.rules.subscription import change_body

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
ID = TransferId(bytes(31) + b"\7")


def state(status: Status, **changes: object) -> TransferState:
    known = TransferState(
        transfer_id=ID,
        status=status,
        refund_reason=XferStatus.UNKNOWN,
        status_since=NOW,
        updated_at=NOW,
        sent_at=NOW,
        sender="0xAb",
        receiver="tz1Cd",
    )
    return replace(known, **changes)


def between(before: TransferState | None, after: TransferState) -> StatusChange:
    then = None if before is None else StatusThen.of(before)
    return StatusChange.between(ID, 12, then, StatusThen.of(after))


def test_body_has_the_documented_fields() -> None:
    after = state(Status.TRANSFER_TO_BE_REFUNDED, refund_reason=XferStatus.BAD_SLIPPAGE)
    change = between(state(Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION), after)
    assert json.loads(change_body(change, NOW)) == {
        "type": "transfer.status",
        "timestamp": "2026-06-01T12:00:00.000000Z",
        "data": {
            "transfer_id": "0x" + "00" * 31 + "07",
            "status": 6,
            "previous_status": 3,
            "refund_reason": 4,
            "seq": 12,
        },
    }


def test_new_transfer_was_unknown() -> None:
    change = between(None, state(Status.TRANSFER_SUBMITTING))
    assert (change.previous_status, change.taken_back) == (Status.TRANSFER_UNKNOWN, False)


S, W, R, C = (
    Status.TRANSFER_SUBMITTING,
    Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION,
    Status.TRANSFER_WAITING_FOR_FUND_RELEASE,
    Status.TRANSFER_COMPLETED,
)


@pytest.mark.parametrize(
    ("before", "after", "taken_back"),
    [
        (S, W, False),
        (W, C, False),
        (C, R, True),
        (C, Status.TRANSFER_UNKNOWN, True),
        (C, Status.TRANSFER_REFUNDED, False),
        (Status.TRANSFER_CONFIRMING_YOUR_REFUND, Status.TRANSFER_REFUND_TO_BE_CONFIRMED, True),
        (Status.TRANSFER_TO_BE_REFUNDED, Status.TRANSFER_REQUESTING_REFUND, False),
        (Status.TRANSFER_UNKNOWN, S, False),
        (S, Status.TRANSFER_FAILED, True),
    ],
)
def test_lost_status_is_taken_back(before: Status, after: Status, taken_back: bool) -> None:
    change = between(state(before), state(after))
    assert change.taken_back is taken_back
    assert ('"taken_back":true' in change_body(change, NOW)) is taken_back


def test_failed_announcement_takes_nothing_back() -> None:
    before, after = state(S, sent_at=None), state(Status.TRANSFER_FAILED, sent_at=None)
    assert not between(before, after).taken_back
