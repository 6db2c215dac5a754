"""Validates a presented key or token, and counts events against a reporter's quota."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from app.credentials import models as table
from app.credentials.queries import usage_of, valid_keys, valid_token
from app.credentials.rules import api_key, ingest_token
from app.credentials.rules.api_key import ApiKey, key_in
from app.credentials.rules.ingest_token import EnvironmentTokens, IngestToken, Quota, Scope
from app.db.database import Database
from app.db.engine import run_read
from app.db.upserts import upsert
from app.values.amounts import grouped
from app.values.errors import QuotaExceeded, Unauthorized
from app.values.times import rfc3339

NOT_VALID: Final = (
    "the API key is not valid: it is unknown or revoked; ask the operator for a new one, or leave the "
    "Authorization header out"
)
MALFORMED: Final = (
    "the API key is malformed: it must be gwk_ and 59 letters and digits; copy all of it, or leave the "
    "Authorization header out"
)


def presented_key(database: Database, authorization: str) -> ApiKey | None:
    """The valid key in the value of an ``Authorization`` header; None where the header presents none.

    A revoked key is refused within ``CONFIG_MAX_AGE_SECONDS`` in every process, and at once in the one that
    revoked it.

    :raises Unauthorized: what is presented as a key is malformed, unknown or revoked.
    """
    text = key_in(authorization)
    if text is None:
        return None
    key_id = api_key.key_id_of(text)
    if key_id is None:
        raise Unauthorized(MALFORMED)
    keys, _ = database.cached.run_read((valid_keys,), lambda: run_read(database.reads, _keys_by_id))
    key = keys.get(key_id)
    if key is None or not key.is_(text.encode()):
        raise Unauthorized(NOT_VALID)
    return key


def _keys_by_id(connection: Connection) -> Mapping[str, ApiKey]:
    return {
        row.key_id: ApiKey(
            row.name,
            row.digest,
            row.id,
            row.key_id,
            frozenset(map(api_key.Scope, row.scopes)),
            row.rate_limit,
        )
        for row in valid_keys(connection)
    }


def scope_of(types: list[str] | None, chains: list[int] | None) -> Scope:
    return Scope(
        None if types is None else frozenset(types),
        None if chains is None else frozenset(chains),
    )


def quota_of(events: int | None, seconds: int | None) -> Quota | None:
    """The quota in these columns of a token; None without one."""
    return None if events is None or seconds is None else Quota(events, seconds)


def authenticate(database: Database, environment_tokens: EnvironmentTokens, presented: bytes) -> IngestToken:
    """The valid token that was presented.

    :raises Unauthorized: it is unknown, was revoked, or has expired.
    """
    # All are compared, so every wrong guess takes the same time, however much of it is right.
    found = [token for token in environment_tokens if token.is_(presented)]
    key_id = ingest_token.key_id_of(presented)
    if key_id is not None and not found:
        row = run_read(database.reads, valid_token, key_id)
        if row is not None:
            scope, quota = scope_of(row.types, row.chains), quota_of(row.quota_events, row.quota_seconds)
            token = IngestToken(row.name, row.digest, scope, key_id, row.expires_at, quota)
            found = [token] if token.is_(presented) else []
    if not found:
        raise Unauthorized("the token is not valid: it is unknown or revoked")
    _refuse_expired(found[0].expires_at, database.clock())
    return found[0]


def _refuse_expired(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is not None and expires_at <= now:
        raise Unauthorized(
            f"the token expired at {rfc3339(expires_at, 'seconds')}: ask the operator for a new one"
        )


def require_valid(connection: Connection, token: IngestToken, now: datetime) -> None:
    """Make sure that the token has not been revoked and has not expired since it was presented.

    :param connection: of the writer, so that a revocation waits until its transaction ends.
    :raises Unauthorized: it was, or has.
    """
    if token.key_id is not None and valid_token(connection, token.key_id) is None:
        raise Unauthorized("the token was revoked; events accepted before stay")
    _refuse_expired(token.expires_at, now)


def charge(connection: Connection, token: IngestToken, events: int, now: datetime) -> None:
    """Count new and refused events against the quota that a reporter's tokens share. Repeated events do not
    count, so a reporter can always send a batch again.

    :param connection: of the writer.
    :raises QuotaExceeded: they are more than are left in this period.
    """
    if token.quota is None or not events:
        return
    period = token.quota.period(now)
    used = usage_of(connection, token.name, period.start)
    if used + events > token.quota.events:
        left = max(0, token.quota.events - used)
        raise QuotaExceeded(
            f"this token may report {token.quota}, and {grouped(left)} are left until "
            f"{rfc3339(period.ends_at, 'seconds')}: earlier batches of this upload are stored; send all of "
            "it again then, repeated events do not count",
            retry_after=token.quota.retry_after(now),
        )
    row = {"reporter": token.name, "period_start": period.start, "events": used + events}
    upsert(connection, table.IngestUsage, [row])
