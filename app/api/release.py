"""Which version answers: ``/version``, in every process, whichever doors it opens."""

from __future__ import annotations

from flask import Blueprint, Response

from app.api.answers import PRIVATE_HEADERS, body
from app.api.door import VERSION_PATH, VERSION_SHAPE
from app.release import API_VERSIONS
from app.runtime.gateway import current_gateway
from app.runtime.ready.schema_range import newest_schema

release = Blueprint("release", __name__)


@release.get(VERSION_PATH)
def version() -> Response:
    """What runs here. Nothing is read, so it answers while the database is away."""
    running = current_gateway().release
    told = {
        "version": running.version,
        "commit": running.commit,
        "schema": newest_schema(),
        "api_versions": list(API_VERSIONS),
    }
    return Response(body(VERSION_SHAPE, told), headers=PRIVATE_HEADERS)
