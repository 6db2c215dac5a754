"""The two operations of the feed."""

from __future__ import annotations

from flask import Blueprint, Response

from app.http.answers import private_answer
from app.ingest.bearer import bearer
from app.ingest.body import lines_of_request
from app.runtime.gateway import current_gateway
from app.services.feed.reporting import cursor, report

feed = Blueprint("ingest", __name__)


@feed.post("/events", provide_automatic_options=False)
def post_events() -> Response:
    """Take events, one a line. The answer comes after all of them are committed."""
    token = bearer()
    verdict = report(current_gateway(), token, lines_of_request())
    return private_answer(verdict.as_json())


@feed.get("/cursor", provide_automatic_options=False)
def get_cursor() -> Response:
    """The last event that was accepted from this reporter."""
    last = cursor(current_gateway(), bearer())
    return private_answer({"err": None, "cursor": last.as_json() if last else None})
