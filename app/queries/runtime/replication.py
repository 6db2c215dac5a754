"""How far has the write-ahead log come, on the primary and on its replica?"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text

# Flushed, not inserted: what a commit has promised is flushed, and nothing else is sent to replicas.
_FLUSHED: Final = text("SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn")
# A replica that was promoted keeps its last position and goes its own way from there.
_REPLAYED: Final = text("SELECT pg_last_wal_replay_lsn() - '0/0'::pg_lsn WHERE pg_is_in_recovery()")


def flushed_position(connection: Connection) -> int:
    """The byte of the log up to which the primary has committed for certain."""
    return int(connection.scalar(_FLUSHED) or 0)


def replayed_position(connection: Connection) -> int | None:
    """The byte of the log up to which a replica shows what happened; None where it is no replica."""
    position = connection.scalar(_REPLAYED)
    return None if position is None else int(position)
