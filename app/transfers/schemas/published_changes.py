"""The public shape of a change of a status: the body of a webhook, and the data of a stream's event."""

from __future__ import annotations

from marshmallow import fields

from app.http.schemas import TRANSFER_ID_PATTERN, Shape, describe, enumerated
from app.transfers.rules.published_changes import STATUS_EVENT
from app.transfers.schemas.status_answers import ID_EXAMPLE, REFUND_REASON, STATUS
from app.values.codes import TransferHistoryStatus


class StatusChange(Shape):
    """What changed."""

    transfer_id = fields.String(
        metadata=describe("The transfer's id.", ID_EXAMPLE, pattern=TRANSFER_ID_PATTERN)
    )
    status = STATUS
    previous_status = fields.Integer(
        metadata=describe("The status before; 0 for an unknown transfer.", 4)
        | enumerated(TransferHistoryStatus)
    )
    refund_reason = REFUND_REASON
    seq = fields.Integer(metadata=describe("The position of the change in the gateway's event log.", 81_234))
    taken_back = fields.Boolean(
        metadata=describe(
            "True if the event behind `previous_status` no longer counts; otherwise left out.", False
        )
    )


class StatusChanged(Shape):
    """The event. Others may be posted: their ``type`` says which."""

    type = fields.String(metadata=describe("Which event it is.", STATUS_EVENT, enum=[STATUS_EVENT]))
    timestamp = fields.String(
        metadata=describe(
            "When the gateway learned of the change.", "2026-11-21T12:00:00.000000Z", format="date-time"
        )
    )
    data = fields.Nested(StatusChange)
