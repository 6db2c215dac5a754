"""The OpenAPI document and the page that shows it. Nothing is loaded from elsewhere."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import orjson
from flask import Blueprint, Response, current_app, request, send_from_directory

from app.api.answers import ANY_ORIGIN, AS_IT_IS, EXPOSED, JSON
from app.api.door import WAIT_DOOR, ApiDoor, current_door
from app.api.openapi.document import document
from app.http.public import preflight

_ASSETS: Final = Path(__file__).parent / "static" / "docs"
_REVALIDATED: Final = ("Cache-Control", "no-cache")
_PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

docs = Blueprint("docs", __name__)


@cache
def document_bytes(*, compat_clients: bool, waiting: bool) -> bytes:
    """The document of a door with these settings, as JSON."""
    door = ApiDoor.make(trusted_proxies=0, compat_clients=compat_clients)
    return orjson.dumps(document(door, waiting=waiting))


@docs.route("/openapi.json", methods=["OPTIONS"])
def ask_first() -> Response:
    """The preflight of a page that sends back the document's ETag."""
    return preflight(204)


@docs.get("/openapi.json")
def openapi() -> Response:
    """The document, readable from pages of any origin."""
    waiting = WAIT_DOOR in current_app.blueprints
    body = document_bytes(compat_clients=current_door().compat_clients, waiting=waiting)
    response = Response(body, headers=(JSON, _REVALIDATED, *AS_IT_IS, ANY_ORIGIN, EXPOSED))
    response.add_etag()
    response.make_conditional(request)
    return response


@docs.get("/docs")
def page() -> Response:
    """The page. Its policy forbids loading anything that this application does not serve."""
    response = send_from_directory(_ASSETS, "index.html")
    response.headers.update(AS_IT_IS)
    response.headers["Content-Security-Policy"] = _PAGE_POLICY
    response.headers["Referrer-Policy"] = "same-origin"
    return response


@docs.get("/docs/assets/<name>")
def asset(name: str) -> Response:
    """The page's scripts, styles and licences."""
    response = send_from_directory(_ASSETS, name)
    response.headers.update(AS_IT_IS)
    return response
