"""Who is reporting: the token in the request's ``Authorization`` header."""

from __future__ import annotations

from flask import request

from app.domain.errors import Unauthorized
from app.domain.reporting.token import IngestToken
from app.runtime.gateway import current_gateway
from app.services.reporters.tokens import authenticate


def bearer() -> IngestToken:
    """The valid token presented as ``Authorization: Bearer TOKEN``.

    :raises Unauthorized: there is no such header, or its token is not valid.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip(" "):
        raise Unauthorized("a token is required: send Authorization: Bearer TOKEN")
    return authenticate(current_gateway(), token.strip(" ").encode("latin-1"))  # the bytes that were sent
