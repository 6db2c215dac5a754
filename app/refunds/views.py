"""Refunds: asked for, and their evidence explained."""

from __future__ import annotations

from flask import Blueprint, Response

from app.api.answers import answer
from app.api.door import ASK_PATHS, EVIDENCE_PATH, current_door
from app.api.requests import apply_request_policy, caller, read_body, read_query
from app.db.database import Database
from app.http.limits import AskLimit
from app.network.snapshot import SnapshotSource
from app.parts import current
from app.refunds.services import ask_for_refund, refund_evidence

evidence = Blueprint("evidence", __name__)
evidence.before_request(apply_request_policy)


@evidence.get(EVIDENCE_PATH)
def get_refund_evidence() -> Response:
    """Would the contract pay this refund, and why or why not?"""
    door = current_door()
    asked = read_query(door.evidence_query)
    return answer(
        door.evidence_answer,
        refund_evidence(current(Database), current(SnapshotSource), asked["transfer_id"]),
    )


@evidence.post(ASK_PATHS[0])
@evidence.post(ASK_PATHS[1])
def withdraw_liquidity() -> Response:
    """Pay this transfer back."""
    door = current_door()
    asked = read_body(door.ask_body, any_content_type=door.compat_clients)
    number = ask_for_refund(
        current(Database), current(SnapshotSource), current(AskLimit), asked["withdraw_req"], caller()
    )
    return answer(door.ask_answer, {"seq_num": str(number)})
