"""The public shapes of webhooks. Making, listing and removing them have the same answer."""

from __future__ import annotations

from typing import Final

from marshmallow import fields, validate

from app.http.schemas import (
    TRANSFER_ID_PATTERN,
    Answer,
    BoundedText,
    Flag,
    Question,
    Shape,
    TransferIdHex,
    WatchedAccount,
    describe,
)
from app.values.wire_values import WATCHED_ACCOUNT
from app.webhooks.rules.addresses import MAX_URL
from app.webhooks.rules.subscription import MAX_NAME, MAX_SUBJECTS, State

_ID: Final = "whk_0123456789abcdef"
_LIST: Final = f"must be a list of at most {MAX_SUBJECTS}"
_AT_MOST: Final = validate.Length(max=MAX_SUBJECTS, error=_LIST)


class WebhookBody(Question):
    """Body of a new webhook."""

    url = BoundedText(
        MAX_URL,
        required=True,
        metadata=describe("Where events are posted: an https URL.", "https://example.org/hooks"),
    )
    name = BoundedText(MAX_NAME, metadata=describe("Name.", "ledger"))
    accounts = fields.List(
        WatchedAccount(metadata={"pattern": f"^({WATCHED_ACCOUNT})$"}),
        validate=_AT_MOST,
        error_messages={"invalid": _LIST},
        metadata=describe(
            "Senders or receivers, on any chain.",
            ["0x1619DE6B6B20eD217a58d00f37B9d47C7663feca"],
        ),
    )
    transfer_ids = fields.List(
        TransferIdHex(metadata={"pattern": TRANSFER_ID_PATTERN}),
        validate=_AT_MOST,
        error_messages={"invalid": _LIST},
        metadata=describe("Ids of transfers, also of unknown ones."),
    )
    everything = Flag(
        metadata=describe("Every transfer; needs the scope `webhooks:all`."),
    )


class WebhookQuery(Question):
    """Parameters of removing a webhook."""

    id = BoundedText(64, required=True, metadata=describe("Id of the webhook to remove.", _ID))


class Webhook(Shape):
    """One subscription."""

    id = fields.String(metadata=describe("Id.", _ID))
    name = fields.String(metadata=describe("Name.", "ledger"))
    url = fields.String(metadata=describe("Where events are posted.", "https://example.org/hooks"))
    everything = fields.Boolean(metadata=describe("Every transfer.", False))
    accounts = fields.List(fields.String(), metadata=describe("Accounts."))
    transfer_ids = fields.List(fields.String(), metadata=describe("Ids of transfers."))
    state = fields.String(
        metadata=describe(
            "`active`, `paused` (events wait) or `off` (events are dropped).",
            "active",
            enum=[State.ACTIVE.value, State.PAUSED.value, State.OFF.value],
        )
    )
    waiting = fields.Integer(metadata=describe("Deliveries that wait, counted up to 1000.", 0))
    created_at = fields.String(metadata=describe("RFC 3339.", "2026-11-21T12:00:00Z"))


class WebhooksAnswer(Answer):
    """The webhooks of the key, and the secret of a new one."""

    webhooks = fields.List(fields.Nested(Webhook), dump_default=list)
    secret = fields.String(
        dump_default="",
        metadata=describe(
            "Signs the events; only in the answer to POST.",
            "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
        ),
    )
