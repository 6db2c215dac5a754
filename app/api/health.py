"""Health checks for load balancers, and which version answers, in every process."""

from __future__ import annotations

from flask import Blueprint, Response

from app.api.answers import PRIVATE_HEADERS, body
from app.api.door import READY, READY_PATH, VERSION_PATH, VERSION_SHAPE
from app.db.schema import newest_schema
from app.monitoring.readiness import Readiness
from app.parts import current
from app.release import API_VERSIONS, Release
from app.values.errors import Unavailable

release = Blueprint("release", __name__)


@release.get(VERSION_PATH)
def version() -> Response:
    """What runs here. Nothing is read, so it answers while the database is away."""
    running = current(Release)
    told = {
        "version": running.version,
        "commit": running.commit,
        "schema": newest_schema(),
        "api_versions": list(API_VERSIONS),
    }
    return Response(body(VERSION_SHAPE, told), headers=PRIVATE_HEADERS)


health = Blueprint("health", __name__)


@health.get("/healthz")
def up() -> Response:
    """The process answers."""
    return _healthy()


@health.get(READY_PATH)
def ready() -> Response:
    """The database is reachable and migrated, and the configuration is fresh.

    How far chains are read is told, and is no reason to send requests elsewhere: others answer the same.
    """
    verdict = current(Readiness).verdict()
    if verdict.complaint:
        raise Unavailable(verdict.complaint)
    return Response(body(READY, verdict.answer), headers=PRIVATE_HEADERS)


def _healthy() -> Response:
    return Response(b'{"err":null}', headers=PRIVATE_HEADERS)
