"""Which process of PostgreSQL answers, and which settings do its role and its pooler give to a session?"""

from __future__ import annotations

from typing import Final, NamedTuple

from sqlalchemy import Connection, DateTime, Text, cast, func, select

LIMITS: Final = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
"""Settings that bound how long statements and transactions may take; ``0`` is no bound."""

_FIRST: Final = "0001-01-01 00:00:00+00"

_process = select(func.pg_backend_pid())
_settings = select(
    func.session_user(),
    func.current_setting("TimeZone"),
    # Not the name: UTC has several.
    cast(cast(_FIRST, DateTime(timezone=True)), Text) == _FIRST,
    *(func.current_setting(name) for name in LIMITS),
)


class Session(NamedTuple):
    """The settings that a statement runs with."""

    role: str
    time_zone: str
    in_utc: bool
    """Whether it shows the first moment of the year 1 as it is in UTC."""
    limits: dict[str, str]


def server_process(connection: Connection) -> int:
    """The id of the server's process that answers this statement."""
    process: int = connection.scalars(_process).one()
    return process


def session_of(connection: Connection) -> Session:
    """The settings that this statement runs with."""
    role, zone, in_utc, *limits = connection.execute(_settings).one()
    return Session(role, zone, in_utc, dict(zip(LIMITS, limits, strict=True)))
