"""The three operations. Each view parses the request, calls a service and dumps the answer."""

from __future__ import annotations

from flask import Blueprint, Response

from app.api.answers import answer
from app.api.door import ESTIMATE_PATH, LATENCY_PATH, STATUS_PATH, current_door
from app.api.parsing import read_body, read_query, read_query_or_body
from app.api.request_policy import apply_request_policy, caller
from app.domain.estimate.inputs import EstimateRequest
from app.runtime.gateway import current_gateway
from app.services.estimates.estimate import estimate_transfer
from app.services.latency import median_latency
from app.services.transfers.status import transfer_status

operations = Blueprint("v2", __name__)
operations.before_request(apply_request_policy)


@operations.post(STATUS_PATH)
def get_transfer_status() -> Response:
    """Where is this transfer?"""
    door = current_door()
    asked = read_body(door.status_body, any_content_type=door.compat_clients)
    status = transfer_status(current_gateway(), asked["transfer_id"])
    return answer(door.status_answer, status)


@operations.get(ESTIMATE_PATH)
@operations.post(ESTIMATE_PATH)
def estimate_amt() -> Response:
    """What would this transfer bring?"""
    door = current_door()
    asked = read_query_or_body(door.estimate_query, any_content_type=door.compat_clients)
    usr_addr = asked.pop("usr_addr", None)
    estimate = estimate_transfer(current_gateway(), EstimateRequest(**asked), usr_addr, caller())
    return answer(door.estimate_answer, estimate)


@operations.get(LATENCY_PATH)
def get_latest_7_day_transfer_latency() -> Response:
    """How long do transfers between these chains take?"""
    door = current_door()
    asked = read_query(door.latency_query)
    seconds = median_latency(current_gateway(), asked["src_chain_id"], asked["dst_chain_id"])
    return answer(door.latency_answer, {"median_transfer_latency_in_second": seconds})
