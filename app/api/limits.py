"""How often may they ask: each caller by ``RATE_LIMIT``, and each API key by its own limit.

It holds for both public doors. A request without a key, where there is no ``RATE_LIMIT``, is not looked at.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from flask import Flask, Response, after_this_request, request

from app.api.door import LEGACY_PREFIX, PREFIX
from app.credentials.api_key import ApiKey, Scope
from app.credentials.key_uses import KeyUses
from app.credentials.services.api_keys import presented_key
from app.db.database import Database
from app.http.limits import RequestLimits, Standing
from app.http.pages import TRANSFER_PAGES
from app.http.public import RATE_LIMIT_HEADERS, caller, keep_key, require_scope
from app.parts import current
from app.values.codes import Reason
from app.values.errors import GatewayError, Unauthorized

PUBLIC_PREFIXES: Final = (
    f"{PREFIX}/",
    f"{LEGACY_PREFIX}/",
    "/sgn.gateway.v1.Web/",
    "//sgn.gateway.v1.Web/",
    TRANSFER_PAGES,
)
"""Requests that are counted, and answered soon: the public doors, but no health checks, no console and no
feed."""

_OF_WEBHOOKS: Final = (f"{PREFIX}/webhooks", f"{LEGACY_PREFIX}/webhooks")
"""What needs the scope of webhooks; everything else that is public is read."""

TOO_MANY: Final = "too many requests: wait before trying again"


def register(app: Flask, *, counts_everybody: bool, trusted_proxies: int) -> None:
    """Recognise keys and count the requests of all public operations together, before any of them runs.

    :param counts_everybody: whether there is a ``RATE_LIMIT``.
    """

    @app.before_request
    def count() -> None:
        environ = request.environ
        authorization = environ.get("HTTP_AUTHORIZATION")
        if (counts_everybody or authorization is not None) and _is_counted():
            _count(authorization or "", trusted_proxies)


def _is_counted() -> bool:
    return (
        request.endpoint is not None
        and request.method != "OPTIONS"
        and request.path.startswith(PUBLIC_PREFIXES)
    )


def _count(authorization: str, trusted_proxies: int) -> None:
    """
    :raises Unauthorized: what is presented as a key is none. It counts as a request without a key.
    :raises Forbidden: the key is not for this operation.
    :raises GatewayError: too many requests.
    """
    database = current(Database)
    key_uses = current(KeyUses)
    request_limits = current(RequestLimits)
    key, not_valid = _recognised(database, authorization)
    standing = request_limits.count(key, caller(trusted_proxies))
    is_over = standing is not None and standing.is_over
    if key is not None:
        key_uses.used(key.id, limited=is_over)
    if standing is not None:
        after_this_request(partial(_tell, standing))
        if is_over:
            raise GatewayError(TOO_MANY, reason=Reason.RATE_LIMITED, retry_after=standing.reset_seconds)
    if not_valid is not None:
        raise not_valid
    if key is not None:
        require_scope(key, Scope.WEBHOOKS if request.path.startswith(_OF_WEBHOOKS) else Scope.READ)
        keep_key(key)


def _recognised(database: Database, authorization: str) -> tuple[ApiKey | None, Unauthorized | None]:
    """The key that is presented, and why what is presented as one is none."""
    try:
        return presented_key(database, authorization), None
    except Unauthorized as not_valid:
        return None, not_valid


def _tell(standing: Standing, response: Response) -> Response:
    """Say in an answer how the limit stands (docs/interface.md#rate-limits)."""
    told = (standing.limit, standing.remaining, standing.reset_seconds)
    for name, number in zip(RATE_LIMIT_HEADERS, told, strict=True):
        response.headers.add(name, str(number))  # nobody else sets them, so none has to be looked for
    return response
