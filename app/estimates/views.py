"""Estimates, and how they come about. Each view parses the request, calls a service, dumps the answer."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, Response

from app.db.database import Database
from app.estimates.counts import EstimateCounts
from app.estimates.inputs import EstimateRequest
from app.estimates.schemas import (
    EstimateAnswer,
    EstimateQuery,
    ExplainedAnswer,
    estimate_query,
    explained_json,
)
from app.estimates.services import estimate_transfer, explain_estimate
from app.http.interface import Answers, PublicInterface
from app.http.public import answer
from app.http.requests import caller, read_query, read_query_or_body
from app.network.snapshot import SnapshotSource
from app.parts import current
from app.values.ip_addresses import IPAddress

ESTIMATE_PATH: Final = "/estimateAmt"
EXPLAIN_PATH: Final = "/explainEstimate"

_ESTIMATE_ANSWER: Final = EstimateAnswer()
_EXPLAINED_ANSWER: Final = ExplainedAnswer()

ANSWERS: Final[Answers] = {ESTIMATE_PATH: _ESTIMATE_ANSWER, EXPLAIN_PATH: _EXPLAINED_ANSWER}


def add_operations(operations: Blueprint) -> None:
    """Answer these paths."""
    operations.get(ESTIMATE_PATH)(operations.post(ESTIMATE_PATH)(estimate_amt))
    operations.get(EXPLAIN_PATH)(get_explained_estimate)


def estimate_amt() -> Response:
    """What would this transfer bring?"""
    asked = read_query_or_body(_query())
    return answer(_ESTIMATE_ANSWER, estimate_transfer(*_arguments(asked)))


def get_explained_estimate() -> Response:
    """How does this estimate come about, or why is there none?"""
    asked = read_query(_query())
    return answer(_EXPLAINED_ANSWER, explained_json(explain_estimate(*_arguments(asked))))


def _query() -> EstimateQuery:
    return estimate_query(current(PublicInterface).compat_clients)


def _arguments(
    asked: dict[str, Any],
) -> tuple[Database, SnapshotSource, EstimateCounts, EstimateRequest, str | None, IPAddress | None]:
    """What both services take: parts, the request, the user's account and the caller."""
    user = asked.pop("usr_addr", None)
    parts = current(Database), current(SnapshotSource), current(EstimateCounts)
    return *parts, EstimateRequest(**asked), user, caller()
