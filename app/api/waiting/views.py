"""The operations of those who wait. Each view parses, registers who waits, and leaves the answer to come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flask import Blueprint, Response, current_app, request

from app.api.answers import PUBLIC_HEADERS, status_response
from app.api.door import EVENTS_PATH, PREFIX, WAIT_DOOR, WAIT_PATH, current_door
from app.api.errors import refusal
from app.api.parsing import read_query
from app.api.request_policy import apply_request_policy, caller
from app.api.waiting.schemas import EventsQuery, WaitQuery
from app.api.waiting.sources import STREAM_HEADERS, LastAnswer, Refuse, StatusSource, StreamSource
from app.domain.caller import counted_network
from app.domain.errors import BadRequest
from app.domain.following.position import BEGINNING, Position, parse_position
from app.domain.keys import account_key
from app.http.later import LaterResponse
from app.runtime.gateway import current_gateway
from app.services.transfers.follow import follow, key_of, present_position
from app.services.transfers.wait import LONGEST_SECONDS, StatusWaiter, wait_for_status

_LAST: Final = "last_awaited_answer"
_WAIT_QUERY: Final = WaitQuery()
_EVENTS_QUERY: Final = EventsQuery()

wait = Blueprint(WAIT_DOOR, __name__)
wait.before_request(apply_request_policy)


@wait.get(WAIT_PATH)
def wait_transfer_status() -> Response:
    """Is this transfer at another status by now?"""
    door, gateway = current_door(), current_gateway()
    asked = read_query(_WAIT_QUERY)
    seconds = min(asked.get("timeout", LONGEST_SECONDS), LONGEST_SECONDS)
    after = asked.get("after_status") if request.method == "GET" else None
    found = wait_for_status(gateway, asked["transfer_id"], after, seconds, _network())
    if not isinstance(found, StatusWaiter):
        return status_response(door.status_answer, found)
    last = current_app.extensions.setdefault(_LAST, LastAnswer())
    source = StatusSource(gateway, door, found, _refuse_later(current_app.app_context), last)
    return LaterResponse(source, PUBLIC_HEADERS)


@wait.get(EVENTS_PATH)
def transfer_events() -> Response:
    """What happens to this transfer, or to those of this account?"""
    gateway = current_gateway()
    asked = read_query(_EVENTS_QUERY)
    account = account_key(asked["account"]) if "account" in asked else None
    key = key_of(asked.get("transfer_id"), account)
    if key is None:
        raise BadRequest("transfer_id: send either it or account")
    after = _position(request.headers.get("Last-Event-ID") or asked.get("last_event_id"))
    if request.method == "HEAD":
        return Response(headers=STREAM_HEADERS)
    follower = follow(gateway, key, _network())
    try:
        if after is None:
            after = BEGINNING if account is None else present_position(gateway)
    except BaseException:
        gateway.waiting.remove(follower)
        raise
    return LaterResponse(StreamSource(gateway, follower, after), STREAM_HEADERS)


def _network() -> str | None:
    """What the caller is counted by among those who wait."""
    address = caller()
    return None if address is None else counted_network(address)


def _position(text: str | None) -> Position | None:
    try:
        return parse_position(text) if text else None
    except ValueError as error:
        raise BadRequest.naming({"Last-Event-ID": str(error)}) from None


def _refuse_later(context: Callable[[], Any]) -> Refuse:
    """What makes an answer of an error when the request is over."""

    def refuse(error: Exception) -> Response:
        with context():
            return refusal(error, "GET", PREFIX + WAIT_PATH)

    return refuse
