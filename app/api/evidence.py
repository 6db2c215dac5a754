"""The evidence of a refund, explained."""

from __future__ import annotations

from flask import Blueprint, Response

from app.api.answers import answer
from app.api.door import EVIDENCE_PATH, current_door
from app.api.parsing import read_query
from app.api.request_policy import apply_request_policy
from app.runtime.gateway import current_gateway
from app.services.refunds.evidence import refund_evidence

evidence = Blueprint("evidence", __name__)
evidence.before_request(apply_request_policy)


@evidence.get(EVIDENCE_PATH)
def get_refund_evidence() -> Response:
    """Would the contract pay this refund, and why or why not?"""
    door = current_door()
    asked = read_query(door.evidence_query)
    return answer(door.evidence_answer, refund_evidence(current_gateway(), asked["transfer_id"]))
