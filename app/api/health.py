"""Health checks for load balancers: is the process up, and can it serve?"""

from __future__ import annotations

from flask import Blueprint, Response

from app.api.answers import PRIVATE_HEADERS
from app.domain.errors import Unavailable
from app.runtime.gateway import current_gateway
from app.runtime.readiness import what_is_wrong

health = Blueprint("health", __name__)


@health.get("/healthz")
def up() -> Response:
    """The process answers."""
    return _healthy()


@health.get("/readyz")
def ready() -> Response:
    """The database is reachable and migrated, and the configuration is fresh."""
    complaint = what_is_wrong(current_gateway())
    if complaint:
        raise Unavailable(complaint)
    return _healthy()


def _healthy() -> Response:
    return Response(b'{"err":null}', headers=PRIVATE_HEADERS)
