"""The three operations. Each view parses, calls and dumps; rules stand in the services."""

from __future__ import annotations

from flask import Blueprint, Response

from app.api.answers import answer
from app.api.door import LATENCY_PATH, STATUS_PATH, current_door
from app.api.manners import guard
from app.api.parsing import read_body, read_query
from app.services.gateway import current_gateway
from app.services.latency import median_latency
from app.services.transfer_status import transfer_status

v2 = Blueprint("v2", __name__)
v2.before_request(guard)


@v2.post(STATUS_PATH)
def get_transfer_status() -> Response:
    """Where is this transfer?"""
    door = current_door()
    asked = read_body(door.status_body, any_content_type=door.compat_clients)
    status = transfer_status(current_gateway(), asked["transfer_id"])
    return answer(door.status_answer, status)


@v2.get(LATENCY_PATH)
def get_latest_7_day_transfer_latency() -> Response:
    """How long do transfers between these chains take?"""
    door = current_door()
    asked = read_query(door.latency_query)
    seconds = median_latency(current_gateway(), asked["src_chain_id"], asked["dst_chain_id"])
    return answer(door.latency_answer, {"median_transfer_latency_in_second": seconds})
