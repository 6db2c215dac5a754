"""Webhooks of an API key: made, listed, removed (docs/webhooks.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from flask import Response

from app.audit.keys import AuditKeys
from app.credentials.callers import require_key, require_scope
from app.credentials.rules.api_key import ApiKey, Scope
from app.db.database import Database
from app.http.application import current
from app.http.public import answer
from app.http.requests import read_body, read_query
from app.values.codes import Reason
from app.values.errors import BadRequest, GatewayError
from app.values.times import rfc3339
from app.webhooks.rules.addresses import AllowedNetworks
from app.webhooks.rules.subscription import Audience, State, subjects_of
from app.webhooks.schemas import WebhookBody, WebhookQuery, WebhooksAnswer
from app.webhooks.services.shown import Shown, list_subscriptions
from app.webhooks.services.subscriptions import (
    NewSubscription,
    NoSubscription,
    SubscriptionRefused,
    subscribe,
    switch,
)

_BODY: Final = WebhookBody()
_QUERY: Final = WebhookQuery()
_ANSWER: Final = WebhooksAnswer()


def list_webhooks() -> Response:
    """The webhooks of this key."""
    key = require_key(Scope.WEBHOOKS)
    return answer(_ANSWER, _listed(key.key_id))


def create_webhook() -> Response:
    """Send the status changes of these transfers to this URL."""
    key = require_key(Scope.WEBHOOKS)
    wanted = _wanted(read_body(_BODY), key)
    try:
        made = subscribe(current(Database), current(AuditKeys), current(AllowedNetworks), wanted, actor=None)
    except SubscriptionRefused as refused:
        raise BadRequest(f"{refused.field}: {refused}" if refused.field else str(refused)) from None
    return answer(_ANSWER, _listed(key.key_id, made.public_id) | {"secret": made.secret})


def remove_webhook() -> Response:
    """Remove a webhook."""
    key = require_key(Scope.WEBHOOKS)
    public_id = read_query(_QUERY)["id"]
    try:
        switch(
            current(Database), current(AuditKeys), public_id, State.REMOVED, actor=None, owner_key=key.key_id
        )
    except NoSubscription:
        raise GatewayError(
            "this API key has no webhook with this id: list them with GET", reason=Reason.WEBHOOK_NOT_FOUND
        ) from None
    return answer(_ANSWER, _listed(key.key_id))


def _wanted(requested: dict[str, Any], key: ApiKey) -> NewSubscription:
    """
    :raises Forbidden: everything is requested, but the key may not have it.
    """
    everything = requested.get("everything", False)
    if everything:
        require_scope(key, Scope.ALL_WEBHOOKS)
    subjects = subjects_of(requested.get("accounts", ()), requested.get("transfer_ids", ()))
    return NewSubscription(
        url=requested["url"],
        name=requested.get("name", ""),
        audience=Audience.EVERYTHING if everything else Audience.SUBJECTS,
        subjects=[] if everything else subjects,
        owner_key=key.key_id,
    )


def _listed(owner_key: str, only: str | None = None) -> dict[str, Any]:
    """The webhooks of a key.

    :param only: the id of one webhook; None for all.
    """
    found = list_subscriptions(current(Database), owner_key)
    return {"webhooks": [_as_json(each) for each in found if only in (None, each.public_id)]}


def _as_json(shown: Shown) -> Mapping[str, Any]:
    return {
        "id": shown.public_id,
        "name": shown.name,
        "url": shown.url,
        "everything": shown.audience is Audience.EVERYTHING,
        "accounts": list(shown.accounts),
        "transfer_ids": list(shown.transfer_ids),
        "state": shown.state.value,
        "waiting": shown.waiting,
        "created_at": rfc3339(shown.created_at, "seconds"),
    }
