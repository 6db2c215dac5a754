"""Refunds: asked for, and their evidence explained."""

from __future__ import annotations

from typing import Final

from flask import Blueprint, Response

from app.db.database import Database
from app.http.interface import Answers
from app.http.limits import RefundRequestLimit
from app.http.public import answer
from app.http.requests import apply_request_policy, caller, read_body, read_query
from app.network.snapshot import SnapshotSource
from app.parts import current
from app.refunds.schemas import EvidenceAnswer, EvidenceQuery, WithdrawAnswer, WithdrawBody
from app.refunds.services import refund_evidence, request_refund

EVIDENCE_PATH: Final = "/getRefundEvidence"
ASK_PATHS: Final = ("/withdrawLiquidity", "/withdrawLiquidity ")
"""One client writes a space after the path."""

_EVIDENCE_QUERY: Final = EvidenceQuery()
_EVIDENCE_ANSWER: Final = EvidenceAnswer()
_ASK_BODY: Final = WithdrawBody()
_ASK_ANSWER: Final = WithdrawAnswer()

ANSWERS: Final[Answers] = {
    EVIDENCE_PATH: _EVIDENCE_ANSWER,
    **dict.fromkeys(ASK_PATHS, _ASK_ANSWER),
}

evidence = Blueprint("evidence", __name__)
evidence.before_request(apply_request_policy)


@evidence.get(EVIDENCE_PATH)
def get_refund_evidence() -> Response:
    """Would the contract pay this refund, and why or why not?"""
    asked = read_query(_EVIDENCE_QUERY)
    explained = refund_evidence(current(Database), current(SnapshotSource), asked["transfer_id"])
    return answer(_EVIDENCE_ANSWER, explained)


@evidence.post(ASK_PATHS[0])
@evidence.post(ASK_PATHS[1])
def withdraw_liquidity() -> Response:
    """Pay this transfer back."""
    asked = read_body(_ASK_BODY)
    number = request_refund(
        current(Database),
        current(SnapshotSource),
        current(RefundRequestLimit),
        asked["withdraw_req"],
        caller(),
    )
    return answer(_ASK_ANSWER, {"seq_num": str(number)})
