"""Who calls the public interfaces, by their API key, and how often they may.

Callers without a key may call by ``RATE_LIMIT``, each key by its own limit. A request without a key is not
checked where there is no ``RATE_LIMIT``. Requests with a key are counted by day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from flask import Flask, Response, after_this_request, g, request
from sqlalchemy import Connection, Engine, delete

from app.credentials.models import ApiKeyUse
from app.credentials.rules.api_key import ApiKey, Scope
from app.credentials.services.presented import presented_key
from app.db.database import Database
from app.db.upserts import add_up
from app.http.application import current
from app.http.limits import LimitStore, LimitUsage, counted, limits_of
from app.http.public import LEGACY_PREFIX, PREFIX, PUBLIC_PREFIXES, RATE_LIMIT_HEADERS
from app.http.requests import caller
from app.observability.counters import BatchedCounts
from app.values.codes import Reason
from app.values.errors import Forbidden, GatewayError, Unauthorized
from app.values.ip_addresses import IPAddress
from app.values.times import day_of

_OF_WEBHOOKS: Final = (f"{PREFIX}/webhooks", f"{LEGACY_PREFIX}/webhooks")
"""These need the scope of webhooks; all other public paths need that of reading."""

TOO_MANY: Final = "too many requests: wait before trying again"


class RequestLimits:
    """Counts the requests of each caller and of each key, over all public interfaces together."""

    def __init__(self, limit: str, store: LimitStore) -> None:
        """``limit`` is that of each caller without a key, such as ``100/minute;1000/hour``; empty is none."""
        self._limits = limits_of(limit)
        self._store = store

    def count(self, key: ApiKey | None, caller: IPAddress | None) -> LimitUsage | None:
        """Count a request; None if nothing limits it. One with a key counts only for the key, from any
        address.
        """
        limits = self._limits if key is None else limits_of(key.rate_limit)
        if not limits:
            return None
        who = counted(caller) if key is None else f"key:{key.key_id}"
        return self._store.count(f"requests:{who}", limits)


def remember_key(key: ApiKey) -> None:
    g.api_key = key


def current_key() -> ApiKey | None:
    key: ApiKey | None = g.get("api_key")
    return key


def require_key(scope: Scope) -> ApiKey:
    """The key that came with the request, for an operation that needs one.

    :raises Unauthorized: none did.
    :raises Forbidden: it does not have the scope.
    """
    key = current_key()
    if key is None:
        raise Unauthorized(f"an API key with the scope {scope} is required: send Authorization: Bearer gwk_…")
    require_scope(key, scope)
    return key


def require_scope(key: ApiKey, scope: Scope) -> None:
    """:raises Forbidden: the key does not have the scope."""
    if not key.may(scope):
        has = ", ".join(sorted(key.scopes))
        raise Forbidden(
            f"the API key lacks the scope {scope}, it has {has}: ask the operator for another key"
        )


def register(app: Flask, *, counts_everybody: bool) -> None:
    """Recognise keys and count the requests of all public operations together, before any of them runs.
    ``counts_everybody``: whether there is a ``RATE_LIMIT``.
    """

    @app.before_request
    def count() -> None:
        environ = request.environ
        authorization = environ.get("HTTP_AUTHORIZATION")
        if (counts_everybody or authorization is not None) and _is_counted():
            _count(authorization or "")


def _is_counted() -> bool:
    return (
        request.endpoint is not None
        and request.method != "OPTIONS"
        and request.path.startswith(PUBLIC_PREFIXES)
    )


def _count(authorization: str) -> None:
    """
    :raises Unauthorized: what is presented as a key is none. It counts as a request without a key.
    :raises Forbidden: the key is not for this operation.
    :raises GatewayError: too many requests.
    """
    database = current(Database)
    key_uses = current(KeyUses)
    request_limits = current(RequestLimits)
    key, not_valid = _recognised(database, authorization)
    usage = request_limits.count(key, caller())
    is_over = usage is not None and usage.is_over
    if key is not None:
        key_uses.used(key.id, limited=is_over)
    if usage is not None:
        after_this_request(partial(_set_limit_headers, usage))
        if is_over:
            raise GatewayError(TOO_MANY, reason=Reason.RATE_LIMITED, retry_after=usage.reset_seconds)
    if not_valid is not None:
        raise not_valid
    if key is not None:
        require_scope(key, Scope.WEBHOOKS if request.path.startswith(_OF_WEBHOOKS) else Scope.READ)
        remember_key(key)


def _recognised(database: Database, authorization: str) -> tuple[ApiKey | None, Unauthorized | None]:
    try:
        return presented_key(database, authorization), None
    except Unauthorized as not_valid:
        return None, not_valid


def _set_limit_headers(usage: LimitUsage, response: Response) -> Response:
    """The headers are in docs/interface/callers.md#rate-limits."""
    numbers = (usage.limit, usage.remaining, usage.reset_seconds)
    for name, number in zip(RATE_LIMIT_HEADERS, numbers, strict=True):
        response.headers.add(name, str(number))  # no other code sets them, so none has to be replaced
    return response


RETENTION: Final = timedelta(days=400)
"""A year and a month, so that a month can be compared with the same one of the year before."""

Use = tuple[int, bool]
"""The id of the key's row, and whether the request was beyond the key's limit."""


class KeyUses(BatchedCounts[Use]):
    what = "uses of API keys"

    def __init__(self, engine: Engine, clock: Callable[[], datetime], seconds: float) -> None:
        super().__init__(engine, clock, seconds)
        self._pruned: int | None = None

    def used(self, api_key_id: int, *, limited: bool) -> None:
        """``limited``: the request was refused because it was beyond the key's limit."""
        self._add((api_key_id, limited))

    def _write(self, connection: Connection, counts: Mapping[Use, int]) -> None:
        day = day_of(self._clock())
        rows: dict[int, dict[str, Any]] = {}
        for (api_key_id, limited), count in sorted(counts.items()):
            empty = {"api_key_id": api_key_id, "day": day, "requests": 0, "limited": 0}
            row = rows.setdefault(api_key_id, empty)
            row["requests"] += count
            row["limited"] += count if limited else 0
        add_up(connection, ApiKeyUse, list(rows.values()))
        if self._pruned != day:
            connection.execute(delete(ApiKeyUse).where(ApiKeyUse.day < day - RETENTION.days))
            self._pruned = day
